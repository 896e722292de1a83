#include "baselines/memory_topo.hpp"

#include <algorithm>
#include <vector>

#include "baselines/unit_walk.hpp"

namespace pardnn {

Constructed memory_topo(const CostModel& costs) {
  const Graph& graph = costs.graph();
  const Machine& machine = costs.machine();
  const std::vector<Bytes> memory = unit_memory(graph);
  Bytes total = 0, largest = 0;
  for (const Bytes bytes : memory) {
    total += bytes;
    largest = std::max(largest, bytes);
  }
  const Bytes share = ceil_mul_div(total, 1, machine.num_devices()) + largest;
  std::vector<Bytes> held(machine.devices.size(), 0);
  for (UnitId u = 0; u < graph.num_units(); ++u) {
    if (graph.unit_fixed(u) != kNoDevice) held[graph.unit_fixed(u)] += memory[u];
  }
  std::vector<DeviceId> device(graph.num_units(), 0);
  DeviceId d = 0;
  for (const UnitId u : units_in_topological_order(graph)) {
    if (graph.unit_fixed(u) != kNoDevice) continue;
    while (d + 1 < machine.num_devices() && held[d] + memory[u] > std::min(share, machine.usable(d))) ++d;
    device[u] = d;
    held[d] += memory[u];
  }
  return placed_by_units(graph, device);
}

}  // namespace pardnn
