/// m-TOPO of Baechi (Jeon et al., SoCC 2020).
#pragma once

#include "construct/constructed.hpp"
#include "costs/cost_model.hpp"

namespace pardnn {

/// Fills devices one after the other in topological order, each up to the balanced share of all memory plus the largest unit, and never past what
/// is usable. Memory is a static sum: mem of roots plus the greatest temp of a unit (unit_memory). What fits nowhere goes to the last device. O(V).
Constructed memory_topo(const CostModel& costs);

}  // namespace pardnn
