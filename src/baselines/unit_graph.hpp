/// The undirected graph of units that METIS and Scotch cut, with weights scaled to their index type.
#pragma once

#include <cstdint>
#include <vector>

#include "costs/cost_model.hpp"

namespace pardnn {

struct UnitGraph {
  std::vector<std::int64_t> offsets{0};        ///< units + 1
  std::vector<std::int64_t> neighbours;        ///< each edge twice, increasing within a unit
  std::vector<std::int64_t> edge_weights;      ///< >= 1
  std::vector<std::int64_t> vertex_weights;    ///< >= 1
  std::int64_t num_units() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
};

/// Units as vertices (weight: comp), edges between different units joined both ways (weight: bytes). Both kinds of weights are scaled down together,
/// if they must be, so that their sums stay about below `greatest_sum`, and are at least 1. O(V + E log degree).
UnitGraph unit_graph(const Graph& graph, std::int64_t greatest_sum);

/// Throws InputError, which names `library`, if the graph has more vertices or neighbours than `greatest_index`.
void require_index(const UnitGraph& graph, std::int64_t greatest_index, const char* library);

/// Parts for graphs that need no partitioner: one part; no more units than parts (each its own); no edges (heaviest unit first to the
/// part with the least work for its speed, ties to the lower part). False if a partitioner is needed. O(V log V + V K).
bool partition_trivially(const CostModel& costs, const UnitGraph& graph, std::vector<DeviceId>& part);

}  // namespace pardnn
