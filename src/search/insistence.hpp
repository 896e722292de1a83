/// More and more varied starts, each repaired, for as long as nothing fits.
#pragma once

#include <cstdint>
#include <functional>

#include "search/pool.hpp"

namespace pardnn {

/// The best of the pool and affinity groups are repaired with more visits; then rounds of list variants, the plain ones first, then with varied weights; without and with budgets. All that is not beaten within its round
/// in both overflow and makespan is repaired. Ends after the round in which something fits, or when `visits` of nodes and edges are spent.
void insist_on_a_fit(Pool& pool, std::uint64_t seed, std::int64_t visits, const std::function<bool()>& should_stop);

}  // namespace pardnn
