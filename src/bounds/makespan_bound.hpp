/// Proven lower bounds on the makespan of every placement, under either policy and either link model.
#pragma once

#include "costs/cost_model.hpp"

namespace pardnn {

/// `best_bound` (model.md): the greatest of
///  - head + duration + tail of each node,
///  - for each h and t, the work of the nodes with head >= h and tail >= t shared out evenly between h and t (E. B. Fernandez
///    and B. Bussell, IEEE Trans. Comput. C-22, 1973, for intervals from a head to a tail),
///  - what one device needs for each unit, and for what is pinned to it,
///  - what some device needs because there are more large units than devices.
/// O((V + E) log^2 V).
Nanoseconds makespan_bound(const CostModel& costs);

struct MakespanBounds {
  Nanoseconds plain = 0;  ///< lower_bound() of model.md
  Nanoseconds best = 0;   ///< the greatest that is proven, >= plain
};

MakespanBounds makespan_bounds(const CostModel& costs);

}  // namespace pardnn
