#include "baselines/unit_walk.hpp"

#include <algorithm>

namespace pardnn {

std::vector<UnitId> units_in_topological_order(const Graph& graph) {
  std::vector<UnitId> units;
  std::vector<char> seen(graph.num_units(), 0);
  units.reserve(graph.num_units());
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    char& met = seen[graph.unit(v)];
    if (met == 0) units.push_back(graph.unit(v));
    met = 1;
  }
  return units;
}

std::vector<UnitId> units_in_file_order(const Graph& graph) {
  std::vector<UnitId> unit_of_file_node(graph.num_nodes());
  for (NodeId v = 0; v < graph.num_nodes(); ++v) unit_of_file_node[graph.file_id(v)] = graph.unit(v);
  std::vector<UnitId> units;
  std::vector<char> seen(graph.num_units(), 0);
  units.reserve(graph.num_units());
  for (const UnitId u : unit_of_file_node) {
    if (seen[u] == 0) units.push_back(u);
    seen[u] = 1;
  }
  return units;
}

std::vector<Nanoseconds> unit_work(const Graph& graph) {
  std::vector<Nanoseconds> work(graph.num_units(), 0);
  for (NodeId v = 0; v < graph.num_nodes(); ++v) work[graph.unit(v)] += graph.comp(v);
  return work;
}

std::vector<Bytes> unit_memory(const Graph& graph) {
  std::vector<Bytes> held(graph.num_units(), 0), temp(graph.num_units(), 0);
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    const UnitId u = graph.unit(v);
    if (graph.root(v) == v && graph.kind(v) != NodeKind::reference) held[u] += graph.mem(v);
    temp[u] = std::max(temp[u], graph.temp(v));
  }
  for (UnitId u = 0; u < graph.num_units(); ++u) held[u] += temp[u];
  return held;
}

Constructed placed_by_units(const Graph& graph, std::span<const DeviceId> unit_device) {
  Constructed placed;
  placed.device.resize(graph.num_nodes());
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    const DeviceId fixed = graph.fixed(v);
    placed.device[v] = fixed != kNoDevice ? fixed : unit_device[graph.unit(v)];
  }
  return placed;
}

}  // namespace pardnn
