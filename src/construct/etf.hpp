/// ETF: earliest task first (Hwang, Chow, Anger, Lee, SIAM J. Computing 18(2), 1989).
///
/// Of all (ready node, device) pairs the one that can start first is planned next; ties go to the greater bottom level, then the lower file
/// id, then the lower device. Departures: units stay on the device of their first node; lazy sources, device subsets and budgets (list_options.hpp).
/// Nodes wait in two heaps per device, where they have an input that makes it special, and in two per class of devices that look alike to them, so
/// nothing scans the ready nodes.
#pragma once

#include "construct/constructed.hpp"
#include "construct/list_options.hpp"
#include "costs/cost_model.hpp"

namespace pardnn {

/// Reads lazy_sources, comm_weight, devices, budget, bottom_levels and given of `options`. O((V + E) log V + V K) on links of one kind.
Constructed etf(const CostModel& costs, const ListOptions& options);

}  // namespace pardnn
