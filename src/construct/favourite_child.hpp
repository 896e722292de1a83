/// Favourite children (Hanen and Munier, SCT, Discrete Applied Mathematics 108, 2001), without their linear program.
#pragma once

#include <vector>

#include "costs/cost_model.hpp"

namespace pardnn {

/// For each node the edge to its favourite child, or -1. Edges are taken by mean cost, dearest first (ties: lower file id of
/// the source, then of the target), if neither their source has a favourite child yet nor their target a favourite parent. O(E log E).
std::vector<EdgeId> favourite_children(const CostModel& costs);

}  // namespace pardnn
