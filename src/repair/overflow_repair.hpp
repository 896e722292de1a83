/// Overflow repair: Step 2 of the paper (3.2.3), as a loop that is verified by emulation and always ends.
#pragma once

#include <functional>
#include <vector>

#include "judge/judge.hpp"

namespace pardnn {

struct RepairOptions {
  int rounds = 200;  ///< emulated rounds at most
  /// Asked between rounds; true ends the repair with what it has. Empty: never.
  std::function<bool()> should_stop;
};

struct Repaired {
  std::vector<DeviceId> device;
  std::vector<std::int64_t> priority;
  Score score;
  std::int64_t moved_units = 0;
};

/// Moves units off devices that overflow until everything fits or no move helps. Each round looks at the peak of every
/// overfull device, moves the candidates that free most for least (two heaps) to devices that can hold them, and keeps
/// what the emulated run confirms: the total overflow falls with every round that is kept. Units move at most once off
/// each device, so it ends. O((V + E) log V) a round, not per move as in the paper.
Repaired repair_overflow(Judge& judge, std::vector<DeviceId> device, std::vector<std::int64_t> priority,
                         const RepairOptions& options);

}  // namespace pardnn
