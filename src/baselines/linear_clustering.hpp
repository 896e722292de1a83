/// Linear clustering (Kim and Browne, ICPP 1988) mapped by GLB (Radulescu and van Gemund, 1998): the paper's LC.
#pragma once

#include "construct/constructed.hpp"
#include "costs/cost_model.hpp"

namespace pardnn {

/// How often linear clustering may compute levels: after every path, but no more than about kLevelSteps / (V + E) times.
inline constexpr std::int64_t kLevelSteps = 500'000'000;
std::int64_t linear_clustering_rounds(const Graph& graph);

/// Takes the critical path out of the graph until nothing is left. The published method computes levels again after every path, which is
/// O(V (V + E)); here that ends after linear_clustering_rounds, and the remaining paths are taken by the last levels. The paths go to
/// devices by global load balancing, heaviest first to the least loaded. O(kLevelSteps + V log V + E).
Constructed linear_clustering(const CostModel& costs);

}  // namespace pardnn
