#include "emulation/emulator.hpp"

#include <algorithm>

#include "levels/weighted_levels.hpp"

namespace pardnn {

DeviceStates::DeviceStates(const Graph& graph, DeviceId devices)
    : arriving(static_cast<std::size_t>(devices), ReadyHeap(graph)), queue(arriving), event(arriving.size()),
      running(arriving.size()), port_free(arriving.size()) {}

void DeviceStates::clear() {
  for (std::size_t d = 0; d < event.size(); ++d) {
    arriving[d].clear();
    queue[d].clear();
    event[d] = kNever;
    running[d] = kIdle;
    port_free[d] = 0;
  }
}

/// Per node state of a whole run.
struct Emulator::Nodes {
  Emulator& emulator;
  Nanoseconds limit;
  std::span<const Nanoseconds> tail;

  Nanoseconds& ready(NodeId v) { return emulator.ready_[v]; }
  std::int64_t& missing(NodeId v) { return emulator.missing_[v]; }
  Nanoseconds& delivered(EdgeId e) { return emulator.delivered_[e]; }
  void round(Nanoseconds) {}
  bool start(NodeId v, Nanoseconds now, Nanoseconds finish) {
    Schedule& schedule = emulator.schedule_;
    schedule.start[v] = now;
    schedule.finish[v] = finish;
    schedule.start_order.push_back(v);
    schedule.makespan = std::max(schedule.makespan, finish);
    return finish <= limit && (tail.empty() || now + tail[v] <= limit);
  }
};

Emulator::Emulator(const CostModel& costs) : costs_(&costs), devices_(costs.graph(), costs.num_devices()) {
  const Graph& graph = costs.graph();
  const std::size_t nodes = static_cast<std::size_t>(graph.num_nodes());
  schedule_.start.resize(nodes);
  schedule_.finish.resize(nodes);
  schedule_.start_order.reserve(nodes);
  ready_.resize(nodes);
  missing_.resize(nodes);
  if (costs.machine().links == Links::ports) delivered_.resize(static_cast<std::size_t>(graph.num_edges()));
}

bool Emulator::run_within(std::span<const DeviceId> device, Policy policy, std::span<const std::int64_t> priority,
                          Nanoseconds limit, std::span<const Nanoseconds> tail) {
  if (policy == Policy::priority && priority.empty()) {
    bottom_levels_ = placed_bottom_levels(*costs_, device);
    priority = bottom_levels_;
  }
  const RunInputs inputs{device, policy, priority};
  Nodes nodes{*this, limit, tail};
  EventLoop<Nodes> loop(*costs_, inputs, devices_, nodes);
  schedule_.start_order.clear();
  schedule_.makespan = 0;
  devices_.clear();
  std::fill(ready_.begin(), ready_.end(), 0);
  const Graph& graph = costs_->graph();
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    missing_[v] = graph.in_degree(v);
    if (missing_[v] == 0) loop.enter(v);
  }
  return loop.run();
}

const Schedule& Emulator::run(std::span<const DeviceId> device, Policy policy, std::span<const std::int64_t> priority) {
  run_within(device, policy, priority, kNever, {});
  return schedule_;
}

}  // namespace pardnn
