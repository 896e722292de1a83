#include "baselines/round_robin.hpp"

#include <vector>

#include "baselines/unit_walk.hpp"

namespace pardnn {

Constructed round_robin(const CostModel& costs) {
  const Graph& graph = costs.graph();
  std::vector<DeviceId> device(graph.num_units(), 0);
  DeviceId next = 0;
  for (const UnitId u : units_in_topological_order(graph)) {
    if (graph.unit_fixed(u) != kNoDevice) continue;
    device[u] = next;
    next = next + 1 == costs.num_devices() ? 0 : next + 1;
  }
  return placed_by_units(graph, device);
}

}  // namespace pardnn
