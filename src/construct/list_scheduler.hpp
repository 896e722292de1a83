/// The list schedulers behind one function, for portfolios.
#pragma once

#include <string>
#include <vector>

#include "construct/constructed.hpp"
#include "construct/list_options.hpp"
#include "costs/cost_model.hpp"

namespace pardnn {

/// A short name of the variant for reports, e.g. "eil-lazy-c1.5".
std::string variant_name(const ListOptions& options);

/// Runs the list scheduler that `options` names. Throws nothing; see each method for its complexity.
Constructed construct_list(const CostModel& costs, const ListOptions& options);

/// The same `rounds` more times, each with the bottom levels of the graph as the round before placed it, and its devices foreseen; all
/// results, in order.
/// O(rounds) runs.
std::vector<Constructed> construct_with_feedback(const CostModel& costs, const ListOptions& options, int rounds);

}  // namespace pardnn
