/// The event loop of the emulated run (model.md, Emulated run), shared by whole runs and by re-runs of a part.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "costs/cost_model.hpp"
#include "emulation/ready_heap.hpp"
#include "pardnn/placement.hpp"

namespace pardnn {

inline constexpr NodeId kIdle = -1;

/// What the devices are doing at one moment: everything of a run that is not per node.
struct DeviceStates {
  std::vector<ReadyHeap> arriving;      ///< by ready time; under fifo this is the queue itself
  std::vector<ReadyHeap> queue;         ///< by priority, under Policy::priority
  std::vector<Nanoseconds> event;       ///< when something happens there next; kNever if nothing is in sight
  std::vector<NodeId> running;          ///< kIdle if none
  std::vector<Nanoseconds> port_free;

  DeviceStates(const Graph& graph, DeviceId devices);
  void clear();
};

/// Inputs of a run. Spans must outlive it.
struct RunInputs {
  std::span<const DeviceId> device;
  Policy policy = Policy::fifo;
  std::span<const std::int64_t> priority;  ///< V under Policy::priority
};

/// Runs events until none is left or `Nodes` says stop. Nodes keeps what is per node:
///   Nanoseconds& ready(v), std::int64_t& missing(v): latest delivery so far, predecessors not yet completed;
///   Nanoseconds& delivered(e): of an edge, under ports;
///   bool start(v, now, finish): v starts; false ends the run;
///   void round(now): called before the events of a time are handled.
template <typename Nodes>
class EventLoop {
 public:
  EventLoop(const CostModel& costs, const RunInputs& inputs, DeviceStates& devices, Nodes& nodes)
      : costs_(costs), graph_(costs.graph()), inputs_(inputs), devices_(devices), nodes_(nodes),
        ports_(costs.machine().links == Links::ports) {}

  /// True if the run came to its end; false if Nodes stopped it.
  bool run() {
    const DeviceId devices = costs_.num_devices();
    while (true) {
      const Nanoseconds now = *std::min_element(devices_.event.begin(), devices_.event.end());
      if (now == kNever) return true;
      nodes_.round(now);
      // One round of model.md: first everything that ends now completes, then every idle device with work starts its
      // head. Nodes of zero duration end in the next round, at the same time.
      for (DeviceId d = 0; d < devices; ++d) {
        if (devices_.event[d] == now && devices_.running[d] != kIdle) complete(d, now);
      }
      for (DeviceId d = 0; d < devices; ++d) {
        if (devices_.event[d] <= now && devices_.running[d] == kIdle && !start_head(d, now)) return false;
      }
    }
  }

  /// All inputs of v are on their way: it joins the queue of its device at its ready time.
  void enter(NodeId v) {
    const DeviceId d = inputs_.device[v];
    const Nanoseconds ready = nodes_.ready(v);
    devices_.arriving[d].push(ready, v);
    if (devices_.running[d] == kIdle) devices_.event[d] = std::min(devices_.event[d], ready);
  }

 private:
  struct Sent {
    DeviceId to;
    std::int32_t output;
    EdgeId edge;
    Bytes bytes;
  };

  void deliver(NodeId v, Nanoseconds at) {
    Nanoseconds& ready = nodes_.ready(v);
    ready = std::max(ready, at);
    if (--nodes_.missing(v) == 0) enter(v);
  }

  void deliver_free(NodeId u, DeviceId p, Nanoseconds now) {
    for (EdgeId e = graph_.out_begin(u); e < graph_.out_end(u); ++e) {
      const NodeId v = graph_.target(e);
      deliver(v, now + costs_.cost(e, p, inputs_.device[v]));
    }
  }

  /// One transfer for each distinct (receiving device, output), in that order, through p's only port.
  void deliver_ports(NodeId u, DeviceId p, Nanoseconds now) {
    sent_.clear();
    for (EdgeId e = graph_.out_begin(u); e < graph_.out_end(u); ++e) {
      const DeviceId q = inputs_.device[graph_.target(e)];
      if (q == p) {
        nodes_.delivered(e) = now;
      } else {
        sent_.push_back({q, graph_.output(e), e, graph_.bytes(e)});
      }
    }
    std::sort(sent_.begin(), sent_.end(), [](const Sent& a, const Sent& b) {
      return a.to != b.to ? a.to < b.to : a.output != b.output ? a.output < b.output : a.edge < b.edge;
    });
    for (std::size_t first = 0, last = 0; first < sent_.size(); first = last) {
      std::size_t largest = first;
      for (last = first; last < sent_.size() && sent_[last].to == sent_[first].to && sent_[last].output == sent_[first].output; ++last) {
        if (sent_[last].bytes > sent_[largest].bytes) largest = last;
      }
      const DeviceId q = sent_[first].to;
      Nanoseconds leaves = now;
      if (sent_[largest].bytes > 0) {
        leaves = std::max(now, devices_.port_free[p]) + costs_.transfer(sent_[largest].edge, p, q);
        devices_.port_free[p] = leaves;
      }
      for (std::size_t i = first; i < last; ++i) nodes_.delivered(sent_[i].edge) = leaves + costs_.latency(p, q);
    }
    for (EdgeId e = graph_.out_begin(u); e < graph_.out_end(u); ++e) deliver(graph_.target(e), nodes_.delivered(e));
  }

  void complete(DeviceId p, Nanoseconds now) {
    const NodeId u = devices_.running[p];
    devices_.running[p] = kIdle;
    // What is queued can start at once; else the earliest that is under way.
    devices_.event[p] = !devices_.queue[p].empty() ? now : devices_.arriving[p].empty() ? kNever : devices_.arriving[p].top().key;
    if (ports_) {
      deliver_ports(u, p, now);
    } else {
      deliver_free(u, p, now);
    }
  }

  /// The head of d's queue at `now`; under Policy::priority nodes that have arrived move to the queue first.
  NodeId take_head(DeviceId d, Nanoseconds now) {
    ReadyHeap& arriving = devices_.arriving[d];
    if (inputs_.policy == Policy::fifo) return arriving.pop().node;
    ReadyHeap& queue = devices_.queue[d];
    while (!arriving.empty() && arriving.top().key <= now) {
      const NodeId v = arriving.pop().node;
      queue.push(~inputs_.priority[v], v);  // -priority - 1: the same order, and the least int64 has it too
    }
    return queue.pop().node;
  }

  bool start_head(DeviceId d, Nanoseconds now) {
    const NodeId v = take_head(d, now);
    const Nanoseconds finish = now + costs_.duration(v, d);
    devices_.running[d] = v;
    devices_.event[d] = finish;
    return nodes_.start(v, now, finish);
  }

  const CostModel& costs_;
  const Graph& graph_;
  const RunInputs& inputs_;
  DeviceStates& devices_;
  Nodes& nodes_;
  bool ports_;
  std::vector<Sent> sent_;
};

}  // namespace pardnn
