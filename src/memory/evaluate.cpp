#include "memory/evaluate.hpp"

#include <algorithm>
#include <utility>

#include "pardnn/error.hpp"

namespace pardnn {
namespace {

void require_legal(const Graph& graph, const Machine& machine, const Placement& placement) {
  const std::size_t nodes = static_cast<std::size_t>(graph.num_nodes());
  if (placement.device.size() != nodes) {
    throw InputError("placement: " + std::to_string(placement.device.size()) + " devices for " + std::to_string(nodes) + " nodes");
  }
  if (!placement.priority.empty() && placement.priority.size() != nodes) {
    throw InputError("placement: " + std::to_string(placement.priority.size()) + " priorities for " + std::to_string(nodes) + " nodes");
  }
  for (std::size_t v = 0; v < nodes; ++v) {
    if (placement.device[v] < 0 || placement.device[v] >= machine.num_devices()) {
      throw InputError("placement: node " + std::to_string(graph.file_id(static_cast<NodeId>(v))) + " is on device " +
                       std::to_string(placement.device[v]) + ", but the machine has devices 0 to " +
                       std::to_string(machine.num_devices() - 1));
    }
  }
}

}  // namespace

Bytes Evaluation::greatest_peak() const {
  Bytes greatest = 0;
  for (const DeviceReport& report : devices) greatest = std::max(greatest, report.peak);
  return greatest;
}

Bytes Evaluation::total_overflow() const {
  Bytes total = 0;
  for (const DeviceReport& report : devices) total += report.overflow;
  return total;
}

std::vector<std::string> broken_rules(const Graph& graph, std::span<const DeviceId> device) {
  bool colocation = false, alias = false, fixed = false;
  std::vector<DeviceId> group_device(static_cast<std::size_t>(graph.num_groups()), kNoDevice);
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    alias |= device[graph.root(v)] != device[v];
    if (graph.group(v) < 0) continue;
    DeviceId& expected = group_device[graph.group(v)];
    if (expected == kNoDevice) expected = device[v];
    colocation |= expected != device[v];
  }
  for (const Graph::Pin& pin : graph.pins()) fixed |= device[pin.node] != pin.device;
  std::vector<std::string> broken;
  if (colocation) broken.push_back("colocation");
  if (alias) broken.push_back("alias");
  if (fixed) broken.push_back("fixed");
  return broken;
}

Evaluation describe_run(const CostModel& costs, std::span<const DeviceId> device, const Schedule& schedule,
                        const MemoryPeaks& peaks, const MakespanBounds& bounds) {
  const Graph& graph = costs.graph();
  const Machine& machine = costs.machine();
  Evaluation evaluation;
  evaluation.makespan = schedule.makespan;
  evaluation.lower_bound = bounds.plain;
  evaluation.best_bound = bounds.best;
  evaluation.broken = broken_rules(graph, device);
  for (DeviceId d = 0; d < machine.num_devices(); ++d) {
    DeviceReport report;
    report.name = machine.devices[d].name;
    report.capacity = machine.devices[d].capacity;
    report.usable = machine.usable(d);
    report.peak = peaks.peak[d];
    report.overflow = std::max<Bytes>(0, report.peak - report.usable);
    evaluation.devices.push_back(std::move(report));
  }
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    DeviceReport& report = evaluation.devices[device[v]];
    report.busy += costs.duration(v, device[v]);
    ++report.nodes;
    if (graph.is_residual(v)) report.parameter_free = false;
    for (EdgeId e = graph.out_begin(v); e < graph.out_end(v); ++e) {
      if (device[graph.target(e)] == device[v]) continue;
      ++evaluation.cut_edges;
      evaluation.cut_bytes += graph.bytes(e);
    }
  }
  evaluation.feasible = evaluation.broken.empty() && evaluation.total_overflow() == 0;
  return evaluation;
}

Schedule emulate(const Graph& graph, const Machine& machine, const Placement& placement, Policy policy) {
  require_legal(graph, machine, placement);
  const CostModel costs(graph, machine);
  Emulator emulator(costs);
  return emulator.run(placement.device, policy, placement.priority);
}

Evaluation evaluate(const Graph& graph, const Machine& machine, const Placement& placement, Policy policy, Schedule* schedule) {
  require_legal(graph, machine, placement);
  const CostModel costs(graph, machine);
  Emulator emulator(costs);
  MemoryTracker tracker(costs);
  const Schedule& run = emulator.run(placement.device, policy, placement.priority);
  const MemoryPeaks& peaks = tracker.track(placement.device, run, emulator.delivered());
  if (schedule != nullptr) *schedule = run;
  return describe_run(costs, placement.device, run, peaks, makespan_bounds(costs));
}

}  // namespace pardnn
