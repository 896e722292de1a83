/// The methods that `compare` sets beside ours. Each keeps units together and respects pinned nodes.
#pragma once

#include <span>
#include <string_view>

#include "construct/constructed.hpp"
#include "costs/cost_model.hpp"

namespace pardnn {

struct Baseline {
  std::string_view name;  ///< as on the command line, e.g. "m-etf"
  std::string_view what;  ///< one line for people: the method, its source, and where it departs from that
  Constructed (*run)(const CostModel& costs);
};

/// All that were built in, in the order of the table. METIS and Scotch are there only if their libraries were found.
std::span<const Baseline> all_baselines();

}  // namespace pardnn
