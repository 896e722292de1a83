/// Threshold accepting on a frozen run: many moves and swaps, uphill ones too, for overflow that no plan ends.
#pragma once

#include <cstdint>
#include <vector>

#include "judge/judge.hpp"
#include "repair/frozen_run.hpp"
#include "repair/move_plan.hpp"

namespace pardnn {

/// Random parts that hold something at the peak of a device go elsewhere, alone or in exchange for others, as long as the overflow by the estimate of
/// `frozen` stays below the present one plus a threshold that sinks to 0 (Dueck and Scheuer, Threshold accepting, Journal of Computational Physics
/// 90, 1990). `frozen` holds the run that `judge` judged last; it is left wherever the search ended. Returns the moves up to the least overflow that
/// was met, in order; empty if it is no less than at the beginning. Spends about `visits` (FrozenRun::visits()). Deterministic in `seed`.
std::vector<Move> search_frozen(Judge& judge, const MoveParts& parts, FrozenRun& frozen, std::int64_t visits, std::uint64_t seed);

}  // namespace pardnn
