/// Scotch (Pellegrini and Roman, HPCN 1996) on the undirected graph. Built only where the library is found.
#pragma once

#include "construct/constructed.hpp"
#include "costs/cost_model.hpp"

namespace pardnn {

/// SCOTCH_graphMapFixed on unit_graph: a complete graph of devices weighted by speed, pinned units fixed, its default strategy, one
/// thread, fixed seed. Throws InputError past its index type, SystemError if it fails.
Constructed scotch_cut(const CostModel& costs);

}  // namespace pardnn
