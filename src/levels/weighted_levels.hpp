/// Weighted levels (paper, Table 1; model.md, Levels).
///
/// Each level is written once, from levels of nodes before (or behind) it in the topological order: results are exact
/// and do not depend on threads.
#pragma once

#include <span>
#include <vector>

#include "costs/cost_model.hpp"
#include "pardnn/placement.hpp"

namespace pardnn {

struct WeightedLevels {
  std::vector<Nanoseconds> top;     ///< tl: costliest path from a source to v, v excluded
  std::vector<Nanoseconds> bottom;  ///< bl: costliest path from v to a sink, v included
  Nanoseconds weighted(NodeId v) const { return top[v] + bottom[v]; }
};

/// Levels before placement, with mean costs. O(V + E).
WeightedLevels weighted_levels(const CostModel& costs);

/// Levels in which removed nodes (removed[v] != 0) and their edges do not exist (their own levels are 0). `levels` is overwritten. O(V + E).
/// For many rounds over one graph see shrinking_levels.hpp.
void weighted_levels_without(const CostModel& costs, std::span<const char> removed, WeightedLevels& levels);

/// Levels of the placed graph: durations of the node's device, edges inside a device cost 0. O(V + E).
WeightedLevels placed_levels(const CostModel& costs, std::span<const DeviceId> device);

/// Bottom levels of the placed graph alone: the default priorities of model.md. O(V + E).
std::vector<Nanoseconds> placed_bottom_levels(const CostModel& costs, std::span<const DeviceId> device);

}  // namespace pardnn
