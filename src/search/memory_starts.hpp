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

/// Runs the variant up to `runs` times: with usable memory as its budget, then with what follows from the peak of its emulated run, and halfway between
/// the greatest budget that fitted and the least above it that did not. What the constructor knows of memory while it places is an estimate,
/// that may be too high (then it spreads nodes without need) or too low. Ends when a run fits and its fullest device is nearly full. ETF and EIL
/// only. Returns how many runs it took.
int add_budgeted(Pool& pool, ListOptions variant, const std::string& name, int runs, const std::function<bool()>& should_stop);

}  // namespace pardnn
