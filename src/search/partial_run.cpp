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

PartialRun::PartialRun(const CostModel& costs, Policy policy)
    : costs_(&costs), graph_(&costs.graph()), policy_(policy), devices_(costs.graph(), costs.num_devices()) {
  const std::size_t nodes = static_cast<std::size_t>(graph_->num_nodes());
  schedule_.start.resize(nodes);
  schedule_.finish.resize(nodes);
  ready_.resize(nodes);
  missing_.resize(nodes);
  for (NodeId v = 0; v < graph_->num_nodes(); ++v) {
    if (graph_->in_degree(v) == 0) sources_.push_back(v);
  }
  if (costs.machine().links == Links::ports) delivered_.resize(static_cast<std::size_t>(graph_->num_edges()));
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

/// Per node state of a probe, made up from the base when a node is first touched.
struct Probes::Nodes {
  Probes& probe;
  const PartialRun& base;
  std::span<const DeviceId> device;
  Nanoseconds since;  // time of the snapshot
  std::span<const Watch> watches;
  std::span<const Nanoseconds> latest;
  std::size_t next = 0;
  bool gained = false;

  void touch(NodeId v) {
    if (probe.stamp_[v] == probe.probe_) return;
    probe.stamp_[v] = probe.probe_;
    Nanoseconds ready = 0;
    std::int64_t missing = 0;
    const Graph& graph = *base.graph_;
    for (EdgeId i = graph.in_begin(v); i < graph.in_end(v); ++i) {
      const NodeId u = graph.source(i);
      if (base.schedule_.finish[u] >= since) {
        ++missing;
        continue;
      }
      const EdgeId e = graph.in_edge(i);
      Nanoseconds at = base.schedule_.finish[u] + base.costs_->cost(e, device[u], device[v]);
      if (!base.delivered_.empty() && device[u] != device[v]) at = std::max(at, base.delivered_[e]);
      ready = std::max(ready, at);
    }
    probe.ready_[v] = ready;
    probe.missing_[v] = missing;
  }

  Nanoseconds& ready(NodeId v) {
    touch(v);
    return probe.ready_[v];
  }
  std::int64_t& missing(NodeId v) { return probe.missing_[v]; }
  Nanoseconds& delivered(EdgeId e) { return probe.delivered_[e]; }

  void round(Nanoseconds now) {
    if (next < watches.size() && now >= watches[next].start) late = true;
  }
  bool start(NodeId v, Nanoseconds now, Nanoseconds) {
    ++probe.started_;
    if (late || now > latest[v]) return false;
    if (probe.watch_stamp_[v] != probe.probe_) return true;
    probe.watch_stamp_[v] = 0;  // started
    probe.start_[v] = now;
    while (next < watches.size() && probe.watch_stamp_[watches[next].node] == 0) {
      if (probe.start_[watches[next].node] >= watches[next].start) return false;
      ++next;
    }
    gained = next == watches.size();
    return !gained;
  }
  bool late = false;
};

Probes::Probes(const PartialRun& base)
    : base_(&base), delivered_(base.delivered_.size()), devices_(*base.graph_, base.costs_->num_devices()) {
  const std::size_t nodes = static_cast<std::size_t>(base.graph_->num_nodes());
  stamp_.assign(nodes, 0);
  watch_stamp_.assign(nodes, 0);
  ready_.resize(nodes);
  start_.resize(nodes);
  missing_.resize(nodes);
}

bool Probes::all_earlier(std::span<const DeviceId> device, std::span<const std::int64_t> priority, Nanoseconds from,
                         std::span<const Watch> watches, std::span<const Nanoseconds> latest) {
  if (watches.empty() || base_->used_snapshots_ == 0) return false;
  const auto begin = base_->snapshots_.begin(), end = begin + static_cast<std::ptrdiff_t>(base_->used_snapshots_);
  auto after = std::upper_bound(begin, end, from, [](Nanoseconds time, const PartialRun::Snapshot& snapshot) { return time < snapshot.time; });
  const PartialRun::Snapshot& snapshot = after == begin ? *begin : *std::prev(after);
  ++probe_;
  for (const Watch& watch : watches) watch_stamp_[watch.node] = probe_;
  Nodes nodes{*this, *base_, device, snapshot.time, watches, latest};
  const RunInputs inputs{device, base_->policy_, priority};
  EventLoop<Nodes> loop(*base_->costs_, inputs, devices_, nodes);
  if (after - begin > 1) {
    devices_ = snapshot.devices;
  } else {
    // From the very beginning: sources queue where they are now.
    devices_.clear();
    for (const NodeId v : base_->sources_) loop.enter(v);
  }
  loop.run();
  return nodes.gained;
}

}  // namespace pardnn
