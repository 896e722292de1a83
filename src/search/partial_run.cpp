#include "search/partial_run.hpp"

#include <algorithm>

namespace pardnn {
namespace {

constexpr std::int64_t kMostSnapshots = 192;
constexpr std::int64_t kLeastStartsBetween = 48;

}  // namespace

/// Per node state of a base run, with snapshots on the way.
struct PartialRun::BaseNodes {
  PartialRun& run;
  std::int64_t between;
  std::int64_t next_snapshot = 0;

  Nanoseconds& ready(NodeId v) { return run.ready_[v]; }
  std::int64_t& missing(NodeId v) { return run.missing_[v]; }
  Nanoseconds& delivered(EdgeId e) { return run.delivered_[e]; }
  void round(Nanoseconds now) {
    const bool first_of_time = now != last_round;
    last_round = now;
    if (!first_of_time || static_cast<std::int64_t>(run.schedule_.start_order.size()) < next_snapshot) return;
    if (run.used_snapshots_ == run.snapshots_.size()) {
      run.snapshots_.push_back({now, run.devices_});
    } else {
      run.snapshots_[run.used_snapshots_].time = now;
      run.snapshots_[run.used_snapshots_].devices = run.devices_;
    }
    ++run.used_snapshots_;
    next_snapshot = static_cast<std::int64_t>(run.schedule_.start_order.size()) + between;
  }
  bool start(NodeId v, Nanoseconds now, Nanoseconds finish) {
    Schedule& schedule = run.schedule_;
    schedule.start[v] = now;
    schedule.finish[v] = finish;
    schedule.start_order.push_back(v);
    schedule.makespan = std::max(schedule.makespan, finish);
    return true;
  }
  Nanoseconds last_round = -1;
};

/// Per node state of a probe, made up from the base when a node is first touched.
struct PartialRun::ProbeNodes {
  PartialRun& run;
  std::span<const DeviceId> device;
  Nanoseconds since;  // time of the snapshot
  std::span<const Watch> watches;
  std::span<const Nanoseconds> latest;
  std::size_t next = 0;
  bool gained = false;

  void touch(NodeId v) {
    if (run.stamp_[v] == run.probe_) return;
    run.stamp_[v] = run.probe_;
    Nanoseconds ready = 0;
    std::int64_t missing = 0;
    const Graph& graph = *run.graph_;
    for (EdgeId i = graph.in_begin(v); i < graph.in_end(v); ++i) {
      const NodeId u = graph.source(i);
      if (run.schedule_.finish[u] >= since) {
        ++missing;
        continue;
      }
      const EdgeId e = graph.in_edge(i);
      Nanoseconds at = run.schedule_.finish[u] + run.costs_->cost(e, device[u], device[v]);
      if (!run.delivered_.empty() && device[u] != device[v]) at = std::max(at, run.delivered_[e]);
      ready = std::max(ready, at);
    }
    run.probe_ready_[v] = ready;
    run.probe_missing_[v] = missing;
  }

  Nanoseconds& ready(NodeId v) {
    touch(v);
    return run.probe_ready_[v];
  }
  std::int64_t& missing(NodeId v) { return run.probe_missing_[v]; }
  Nanoseconds& delivered(EdgeId e) { return run.probe_delivered_[e]; }

  void round(Nanoseconds now) {
    if (next < watches.size() && now >= watches[next].start) late = true;
  }
  bool start(NodeId v, Nanoseconds now, Nanoseconds) {
    ++run.probed_starts_;
    if (late || now > latest[v]) return false;
    if (run.watch_stamp_[v] != run.probe_) return true;
    run.watch_stamp_[v] = 0;  // started
    run.probe_start_[v] = now;
    while (next < watches.size() && run.watch_stamp_[watches[next].node] == 0) {
      if (run.probe_start_[watches[next].node] >= watches[next].start) return false;
      ++next;
    }
    gained = next == watches.size();
    return !gained;
  }
  bool late = false;
};

PartialRun::PartialRun(const CostModel& costs, Policy policy)
    : costs_(&costs), graph_(&costs.graph()), policy_(policy), devices_(costs.graph(), costs.num_devices()),
      probe_devices_(costs.graph(), costs.num_devices()) {
  const std::size_t nodes = static_cast<std::size_t>(graph_->num_nodes());
  schedule_.start.resize(nodes);
  schedule_.finish.resize(nodes);
  ready_.resize(nodes);
  missing_.resize(nodes);
  for (NodeId v = 0; v < graph_->num_nodes(); ++v) {
    if (graph_->in_degree(v) == 0) sources_.push_back(v);
  }
  stamp_.assign(nodes, 0);
  watch_stamp_.assign(nodes, 0);
  probe_ready_.resize(nodes);
  probe_start_.resize(nodes);
  probe_missing_.resize(nodes);
  if (costs.machine().links == Links::ports) {
    delivered_.resize(static_cast<std::size_t>(graph_->num_edges()));
    probe_delivered_.resize(delivered_.size());
  }
}

void PartialRun::rebase(std::span<const DeviceId> device, std::span<const std::int64_t> priority) {
  const RunInputs inputs{device, policy_, priority};
  const NodeId nodes = graph_->num_nodes();
  BaseNodes base{*this, std::max(kLeastStartsBetween, nodes / kMostSnapshots + 1)};
  EventLoop<BaseNodes> loop(*costs_, inputs, devices_, base);
  schedule_.start_order.clear();
  schedule_.makespan = 0;
  used_snapshots_ = 0;
  devices_.clear();
  std::fill(ready_.begin(), ready_.end(), 0);
  for (NodeId v = 0; v < nodes; ++v) {
    missing_[v] = graph_->in_degree(v);
    if (missing_[v] == 0) loop.enter(v);
  }
  loop.run();
}

Nanoseconds PartialRun::enter_time(NodeId v) const {
  Nanoseconds last = 0;
  for (EdgeId i = graph_->in_begin(v); i < graph_->in_end(v); ++i) last = std::max(last, schedule_.finish[graph_->source(i)]);
  return last;
}

void PartialRun::latest_starts(std::span<const DeviceId> device, std::vector<Nanoseconds>& latest) const {
  latest.resize(static_cast<std::size_t>(graph_->num_nodes()));
  std::vector<Nanoseconds> device_needs(static_cast<std::size_t>(costs_->num_devices()), schedule_.makespan);
  const std::vector<NodeId>& order = schedule_.start_order;
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const NodeId v = *at;
    Nanoseconds end = device_needs[device[v]];
    for (EdgeId e = graph_->out_begin(v); e < graph_->out_end(v); ++e) {
      const NodeId u = graph_->target(e);
      const Nanoseconds way = delivered_.empty() ? costs_->cost(e, device[v], device[u]) : delivered_[e] - schedule_.finish[v];
      end = std::min(end, latest[u] - way);
    }
    latest[v] = end - (schedule_.finish[v] - schedule_.start[v]);
    device_needs[device[v]] = latest[v];
  }
}

bool PartialRun::all_earlier(std::span<const DeviceId> device, std::span<const std::int64_t> priority, Nanoseconds from,
                             std::span<const Watch> watches, std::span<const Nanoseconds> latest) {
  if (watches.empty() || used_snapshots_ == 0) return false;
  const auto begin = snapshots_.begin(), end = begin + static_cast<std::ptrdiff_t>(used_snapshots_);
  auto after = std::upper_bound(begin, end, from, [](Nanoseconds time, const Snapshot& snapshot) { return time < snapshot.time; });
  const Snapshot& snapshot = after == begin ? *begin : *std::prev(after);
  ++probe_;
  for (const Watch& watch : watches) watch_stamp_[watch.node] = probe_;
  ProbeNodes nodes{*this, device, snapshot.time, watches, latest};
  const RunInputs inputs{device, policy_, priority};
  EventLoop<ProbeNodes> loop(*costs_, inputs, probe_devices_, nodes);
  if (after - begin > 1) {
    probe_devices_ = snapshot.devices;
  } else {
    // From the very beginning: sources queue where they are now.
    probe_devices_.clear();
    for (const NodeId v : sources_) loop.enter(v);
  }
  loop.run();
  return nodes.gained;
}

}  // namespace pardnn
