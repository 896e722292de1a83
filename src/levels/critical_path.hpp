/// The critical path: where the weighted level is greatest (model.md, Levels).
#pragma once

#include <span>
#include <vector>

#include "levels/weighted_levels.hpp"

namespace pardnn {

struct CriticalPath {
  std::vector<NodeId> nodes;  ///< from a source to a sink; ties to the lower file id
  Nanoseconds length = 0;
};

/// The critical path before placement; `levels` from weighted_levels. O(V + E).
CriticalPath critical_path(const CostModel& costs, const WeightedLevels& levels);

/// The critical path of the placed graph; `levels` from placed_levels. O(V + E).
CriticalPath placed_critical_path(const CostModel& costs, std::span<const DeviceId> device, const WeightedLevels& levels);

}  // namespace pardnn
