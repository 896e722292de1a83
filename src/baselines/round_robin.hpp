/// Round robin over a topological order: the paper's RR.
#pragma once

#include "construct/constructed.hpp"
#include "costs/cost_model.hpp"

namespace pardnn {

/// Units by their first node in topological order, dealt to devices 0, 1, ... K-1, 0, ...; pinned units take no turn. O(V).
Constructed round_robin(const CostModel& costs);

}  // namespace pardnn
