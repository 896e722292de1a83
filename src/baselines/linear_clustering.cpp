#include "baselines/linear_clustering.hpp"

#include <algorithm>

#include "mapping/mapper.hpp"
#include "slicing/slicer.hpp"

namespace pardnn {

std::int64_t linear_clustering_rounds(const Graph& graph) {
  const std::int64_t steps = graph.num_nodes() + graph.num_edges();
  return std::max<std::int64_t>(1, kLevelSteps / std::max<std::int64_t>(1, steps));
}

Constructed linear_clustering(const CostModel& costs) {
  const Graph& graph = costs.graph();
  SlicingOptions slicing;
  slicing.primaries = costs.num_devices();
  slicing.recomputations = linear_clustering_rounds(graph);
  const Clustering clusters = slice_graph(costs, slicing);
  MappingOptions mapping;
  mapping.balance = Balance::global;
  mapping.initial_merge = false;
  const LevelIndex index(costs.graph(), weighted_levels(costs));
  Constructed placed;
  placed.device = devices_of_nodes(graph, clusters, map_clusters(costs, clusters, index, mapping));
  return placed;
}

}  // namespace pardnn
