/// Every placement of a small graph, unit by unit.
#pragma once

#include <cstdint>
#include <vector>

#include "pardnn/graph.hpp"

namespace pardnn::test {

/// Calls visit(device) for every placement (internal numbering) that respects units and pins: at most K^units calls.
template <typename Visit>
void for_each_placement(const Graph& graph, DeviceId devices, Visit&& visit) {
  std::vector<UnitId> free_units;
  std::vector<DeviceId> device(static_cast<std::size_t>(graph.num_nodes()), 0);
  const auto put = [&](UnitId unit, DeviceId d) {
    for (const NodeId v : graph.unit_nodes(unit)) device[v] = d;
  };
  for (UnitId u = 0; u < graph.num_units(); ++u) {
    if (graph.unit_fixed(u) == kNoDevice) free_units.push_back(u);
    put(u, graph.unit_fixed(u) == kNoDevice ? 0 : graph.unit_fixed(u));
  }
  while (true) {
    visit(static_cast<const std::vector<DeviceId>&>(device));
    std::size_t i = 0;
    for (; i < free_units.size(); ++i) {
      const DeviceId next = device[graph.unit_nodes(free_units[i]).front()] + 1;
      put(free_units[i], next < devices ? next : 0);
      if (next < devices) break;
    }
    if (i == free_units.size()) return;
  }
}

}  // namespace pardnn::test
