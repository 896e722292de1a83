/// Overflow repair: Step 2 of the paper (3.2.3), as a loop that is verified by emulation and always ends.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "judge/judge.hpp"

namespace pardnn {

struct RepairOptions {
  int rounds = 200;  ///< changes kept at most
  /// Nodes and edges that may be visited, all emulations (twice each) and estimates together.
  std::int64_t visits = 50'000'000;
  /// Emulations that are allowed whatever they cost.
  int least_runs = 30;
  /// Many moves at once (frozen_search.hpp) are tried before single ones: a fit comes sooner, but with a longer makespan. Without it only
  /// when three quarters of the visits are gone.
  bool many_first = false;
  /// V, by node, or empty: groups of nodes that hang together, which may move as one (beside single units).
  std::span<const std::int64_t> group_of_node = {};
  /// Asked between rounds; true ends the repair with what it has. Empty: never.
  std::function<bool()> should_stop;
};

struct Repaired {
  std::vector<DeviceId> device;
  std::vector<std::int64_t> priority;
  Score score;
  std::int64_t moved_units = 0;  ///< moves kept, of units and of groups
  std::int64_t visits = 0;       ///< nodes and edges visited
};

/// Moves units and groups off devices that overflow until everything fits or nothing helps. Each round plans with the times of the last
/// run held fast (frozen_run.hpp): at the peak of every overfull device, the candidates that free most for least (two heaps) go to devices that
/// have room for them as long as they are there, moment after moment, until the plan fits. The emulated run then confirms the
/// plan, further plans that cure what it changed, or the first half, quarter, ... of it. Where no plan helps, single moves and swaps that the
/// estimate likes best are emulated one by one, and at last random ones with plans after them. What is kept lowers the total overflow, or the makespan at equal overflow, so it ends.
/// O((V + E) log V) a round, not per move as in the paper.
Repaired repair_overflow(Judge& judge, std::vector<DeviceId> device, std::vector<std::int64_t> priority,
                         const RepairOptions& options);

}  // namespace pardnn
