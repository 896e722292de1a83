/// Refinement by switching nodes along the critical path of the placed graph (paper, Step 1, second policy; NOTES 6).
#pragma once

#include <vector>

#include "costs/cost_model.hpp"

namespace pardnn {

/// The device of each node after at most `rounds` rounds (the paper: K). Each round takes the placed critical path and, for each edge
/// of it that joins two devices, moves either end (with its whole unit, if not pinned) to the other's device if every path
/// through the moved nodes becomes shorter than the critical path; the better end if both do. A round that lengthens the critical path
/// is taken back and ends it; one that leaves it (another path as long) is kept, since this path became shorter.
/// O(rounds (V + E)); independent of threads.
std::vector<DeviceId> switch_along_critical_path(const CostModel& costs, std::vector<DeviceId> device, int rounds);

}  // namespace pardnn
