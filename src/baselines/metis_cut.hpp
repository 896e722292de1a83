/// METIS (Karypis and Kumar, SIAM J. Sci. Comput. 20(1), 1998) on the undirected graph. Built only where the library is found.
#pragma once

#include "construct/constructed.hpp"
#include "costs/cost_model.hpp"

namespace pardnn {

/// METIS_PartGraphKway on unit_graph: parts in proportion to the devices' speeds, least cut, fixed seed, its default imbalance.
/// METIS knows no fixed vertices: pinned units are put where they must be afterwards. Throws InputError past its index type, SystemError if it fails.
Constructed metis_cut(const CostModel& costs);

}  // namespace pardnn
