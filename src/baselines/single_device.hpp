/// Everything on one device.
#pragma once

#include "construct/constructed.hpp"
#include "costs/cost_model.hpp"

namespace pardnn {

/// All on the fastest device (ties: the lower index), except pinned units. O(V).
Constructed single_device(const CostModel& costs);

}  // namespace pardnn
