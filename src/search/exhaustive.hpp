/// All placements of a tiny graph, judged one by one.
#pragma once

#include <optional>

#include "judge/judge.hpp"
#include "search/candidate.hpp"

namespace pardnn {

/// Number of placements that `best_of_all` would judge, or nothing if it exceeds `limit`. Devices that nothing tells
/// apart are tried once.
std::optional<std::int64_t> count_placements(const CostModel& costs, std::int64_t limit);

/// The best placement there is (the first one on ties; under Policy::priority: for default priorities).
/// O(count_placements * (V + E) log V).
Candidate best_of_all(Judge& judge);

}  // namespace pardnn
