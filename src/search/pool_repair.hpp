/// Repair of the pool's candidates that do not fit but are shorter than all that do.
#pragma once

#include <cstdint>
#include <functional>

#include "search/pool.hpp"

namespace pardnn {

/// Repairs the pool's overfull front, the least overflow first, as long as `visits` (repair/overflow_repair.hpp) last; each gets twice its share of
/// what is left, as most need less. `many_first`: a fit counts, its makespan does not. While nothing fits at least one is repaired. What no longer beats the best that fits is left out. Returns the visits left.
std::int64_t repair_overfull(Pool& pool, std::int64_t visits, const std::function<bool()>& should_stop, bool many_first = false);

/// The published method, whole: its step one, and repair from there, however little promises it (a front keeps the placements that overflow least, not those
/// that a repair makes most of). Only where step one overflows and is shorter than the best that fits, or nothing fits.
void add_repaired_step_one(Pool& pool, const std::function<bool()>& should_stop);

}  // namespace pardnn
