/// Single moves and swaps that might lower the overflow, the most promising first.
#pragma once

#include <cstdint>
#include <vector>

#include "repair/move_plan.hpp"

namespace pardnn {

struct TrialMove {
  Bytes overflow;  ///< in all, by the estimate of frozen_run.hpp
  Move move;
  Move back;       ///< in exchange; part kNone: none
};

/// Every part that holds something at the peak of an overfull device, to every device; and, in exchange for parts that are held at the peak there
/// would be, the parts that hold most. Those come back whose estimated overflow is at most that of the run which `frozen` holds and `judge` judged last, by
/// estimated overflow. Stops looking once `visits` are spent. `frozen` is left as it was.
std::vector<TrialMove> trial_moves(Judge& judge, const MoveParts& parts, FrozenRun& frozen, const Refused& refused, std::int64_t visits);

}  // namespace pardnn
