/// Starts that look at memory while they place.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "construct/list_options.hpp"
#include "search/pool.hpp"

namespace pardnn {

/// How often one variant is run with other budgets, at most.
struct BudgetSteps {
  int raises = 3;  ///< after a run that fits with room to spare
  int cuts = 2;    ///< after a run that does not fit
};

/// Runs the variant with usable memory as its budget, then with what follows from the peak of its emulated run: what the
/// constructor knows of memory while it places is an estimate, that may be too high (then it spreads nodes without need) or too low. Ends when a
/// run fits and its fullest device is nearly full, when a raised budget no longer fits, or after the last step. ETF and EIL only. Returns
/// how many runs it took.
int add_budgeted(Pool& pool, ListOptions variant, const std::string& name, const BudgetSteps& steps,
                 const std::function<bool()>& should_stop);

}  // namespace pardnn
