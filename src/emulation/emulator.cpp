#include "emulation/emulator.hpp"

#include <algorithm>
#include <limits>

#include "levels/weighted_levels.hpp"

namespace pardnn {
namespace {

constexpr Nanoseconds kNever = std::numeric_limits<Nanoseconds>::max();
constexpr NodeId kIdle = -1;

}  // namespace

Emulator::Emulator(const CostModel& costs)
    : costs_(&costs), graph_(&costs.graph()), ports_(costs.machine().links == Links::ports) {
  const std::size_t nodes = static_cast<std::size_t>(graph_->num_nodes());
  const std::size_t devices = static_cast<std::size_t>(costs.num_devices());
  schedule_.start.resize(nodes);
  schedule_.finish.resize(nodes);
  schedule_.start_order.reserve(nodes);
  ready_.resize(nodes);
  missing_.resize(nodes);
  if (ports_) delivered_.resize(static_cast<std::size_t>(graph_->num_edges()));
  arriving_.assign(devices, ReadyHeap(*graph_));
  queue_.assign(devices, ReadyHeap(*graph_));
  event_.resize(devices);
  running_.resize(devices);
  port_free_.resize(devices);
}

void Emulator::reset() {
  const NodeId nodes = graph_->num_nodes();
  schedule_.start_order.clear();
  schedule_.makespan = 0;
  std::fill(ready_.begin(), ready_.end(), 0);
  for (DeviceId d = 0; d < costs_->num_devices(); ++d) {
    arriving_[d].clear();
    queue_[d].clear();
    event_[d] = kNever;
    running_[d] = kIdle;
    port_free_[d] = 0;
  }
  for (NodeId v = 0; v < nodes; ++v) {
    missing_[v] = graph_->in_degree(v);
    if (missing_[v] == 0) enter(v);
  }
}

/// All inputs of v are on their way: it joins the queue of its device at its ready time.
void Emulator::enter(NodeId v) {
  const DeviceId d = device_[v];
  arriving_[d].push(ready_[v], v);
  if (running_[d] == kIdle) event_[d] = std::min(event_[d], ready_[v]);
}

void Emulator::deliver(NodeId v, Nanoseconds at) {
  ready_[v] = std::max(ready_[v], at);
  if (--missing_[v] == 0) enter(v);
}

void Emulator::deliver_free(NodeId u, DeviceId p, Nanoseconds now) {
  for (EdgeId e = graph_->out_begin(u); e < graph_->out_end(u); ++e) {
    const NodeId v = graph_->target(e);
    deliver(v, now + costs_->cost(e, p, device_[v]));
  }
}

/// One transfer for each distinct (receiving device, output), in that order, through p's only port.
void Emulator::deliver_ports(NodeId u, DeviceId p, Nanoseconds now) {
  sent_.clear();
  for (EdgeId e = graph_->out_begin(u); e < graph_->out_end(u); ++e) {
    const DeviceId q = device_[graph_->target(e)];
    if (q == p) {
      delivered_[e] = now;
    } else {
      sent_.push_back({q, graph_->output(e), e, graph_->bytes(e), 0});
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
      leaves = std::max(now, port_free_[p]) + costs_->transfer(sent_[largest].edge, p, q);
      port_free_[p] = leaves;
    }
    for (std::size_t i = first; i < last; ++i) delivered_[sent_[i].edge] = leaves + costs_->latency(p, q);
  }
  for (EdgeId e = graph_->out_begin(u); e < graph_->out_end(u); ++e) deliver(graph_->target(e), delivered_[e]);
}

/// When idle device d can start something next; kNever if nothing is queued or under way.
Nanoseconds Emulator::next_start(DeviceId d) const {
  if (!queue_[d].empty()) return 0;
  return arriving_[d].empty() ? kNever : arriving_[d].top().key;
}

void Emulator::complete(DeviceId p, Nanoseconds now) {
  const NodeId u = running_[p];
  running_[p] = kIdle;
  event_[p] = next_start(p);
  if (ports_) {
    deliver_ports(u, p, now);
  } else {
    deliver_free(u, p, now);
  }
}

/// Under Policy::priority: nodes that have arrived by now move to the queue.
void Emulator::admit_arrived(DeviceId d, Nanoseconds now) {
  while (!arriving_[d].empty() && arriving_[d].top().key <= now) {
    const NodeId v = arriving_[d].pop().node;
    queue_[d].push(-priority_[v], v);
  }
}

/// Starts the head of d's queue. False if that proves the makespan to exceed the limit.
bool Emulator::start_head(DeviceId d, Nanoseconds now) {
  NodeId v = 0;
  if (policy_ == Policy::fifo) {
    v = arriving_[d].pop().node;
  } else {
    admit_arrived(d, now);
    v = queue_[d].pop().node;
  }
  const Nanoseconds finish = now + costs_->duration(v, d);
  schedule_.start[v] = now;
  schedule_.finish[v] = finish;
  schedule_.start_order.push_back(v);
  schedule_.makespan = std::max(schedule_.makespan, finish);
  running_[d] = v;
  event_[d] = finish;
  return finish <= limit_ && (tail_.empty() || now + tail_[v] <= limit_);
}

bool Emulator::run_within(std::span<const DeviceId> device, Policy policy, std::span<const std::int64_t> priority,
                          Nanoseconds limit, std::span<const Nanoseconds> tail) {
  device_ = device;
  policy_ = policy;
  limit_ = limit;
  tail_ = tail;
  priority_ = priority;
  if (policy == Policy::priority && priority.empty()) {
    bottom_levels_ = placed_bottom_levels(*costs_, device);
    priority_ = bottom_levels_;
  }
  reset();
  const DeviceId devices = costs_->num_devices();
  while (true) {
    const Nanoseconds now = *std::min_element(event_.begin(), event_.end());
    if (now == kNever) return true;
    // One round of model.md: first everything that ends now completes, then every idle device with work starts its
    // head. Nodes of zero duration end in the next round, at the same time.
    for (DeviceId d = 0; d < devices; ++d) {
      if (event_[d] == now && running_[d] != kIdle) complete(d, now);
    }
    for (DeviceId d = 0; d < devices; ++d) {
      if (event_[d] <= now && running_[d] == kIdle && !start_head(d, now)) return false;
    }
  }
}

const Schedule& Emulator::run(std::span<const DeviceId> device, Policy policy, std::span<const std::int64_t> priority) {
  run_within(device, policy, priority, kNever, {});
  return schedule_;
}

}  // namespace pardnn
