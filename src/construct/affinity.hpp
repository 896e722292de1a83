/// Starts that keep parameters with all that uses them: little is copied, little is sent, memory is where its users are.
#pragma once

#include <cstdint>
#include <vector>

#include "construct/constructed.hpp"
#include "costs/cost_model.hpp"

namespace pardnn {

/// How affinity groups are spread over devices.
enum class AffinitySpread : std::uint8_t {
  blocks,         ///< contiguous runs of groups in topological order, of equal work (pipeline stages)
  blocks_memory,  ///< contiguous runs of equal memory: residuals and outputs
  cyclic,         ///< group i on device i mod K
  heaviest_first  ///< the heaviest group to the least loaded device
};

/// How far affinity reaches.
enum class AffinityRule : std::uint8_t {
  all,    ///< all residuals tie their readers together
  layers  ///< small ones that no node mutates, such as a mask, do not, and of equally heavy inputs the deepest counts: a residual stream falls apart into layers
};

/// Groups of nodes that hang together by data that is held for the whole run: each residual with all consumers of its
/// buffer, and every other node with the input that brings it the most bytes (its heaviest consumer, if it has none).
struct AffinityGroups {
  std::vector<std::int64_t> of_node;  ///< V; groups by their first node that takes time
  std::int64_t groups = 0;
};

/// Unions of units: units are kept whole. O((V + E) log V).
AffinityGroups affinity_groups(const CostModel& costs, AffinityRule rule = AffinityRule::all);

/// Groups spread over the devices; pinned units stay where they must, and take their group along. O((V + E) log V).
Constructed affinity_start(const CostModel& costs, const AffinityGroups& groups, AffinitySpread spread);

}  // namespace pardnn
