/// HEFT: heterogeneous earliest finish time (Topcuoglu, Hariri, Wu, IEEE TPDS 13(3), 2002), with insertion.
///
/// Departures: among equal bottom levels the lower file id goes first, and a node never goes before its predecessors (bottom levels tie
/// where costs are zero); a unit stays on the device of its first node; lazy sources, feedback and device subsets (list_options.hpp).
#pragma once

#include "construct/constructed.hpp"
#include "construct/list_options.hpp"
#include "costs/cost_model.hpp"

namespace pardnn {

/// Reads lazy_sources, comm_weight, devices, bottom_levels and given of `options`. O(V log V + (V + E) K) for gaps searched in passing.
Constructed heft(const CostModel& costs, const ListOptions& options);

}  // namespace pardnn
