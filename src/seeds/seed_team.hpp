/// Many seeds on many ranks: seed s is explored by rank s mod R, rank 0 keeps the best.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "judge/judge.hpp"
#include "pardnn/progress.hpp"
#include "ranks/ranks.hpp"
#include "search/seed_search.hpp"
#include "seeds/seed_state.hpp"

namespace pardnn {

struct SeedTeamOptions {
  /// Every seed's search; its `seed`, `should_stop` and `on_best` are set here.
  SeedSearchOptions search;
  std::uint64_t first_seed = 1;
  std::int64_t seeds = 1;
  /// True ends the run early with the best placement so far. May be empty.
  std::function<bool()> should_stop;
  /// May be null.
  Progress* progress = nullptr;
};

/// What the surroundings of a run have to say to it and want from it. Each may be empty. Called on the thread that started the run.
struct SeedHooks {
  /// What earlier runs have done; only rank 0's counts.
  SeedState before;
  /// Number of a signal that this process has caught and that ends the run on all ranks; 0 if none.
  std::function<int()> caught;
  /// True once for each time that the best so far is asked for.
  std::function<bool()> wants_result;
  /// Rank 0: the best so far is asked for, and here it is; the run goes on.
  std::function<void(const Seeded&)> write_result;
  /// Rank 0: one more seed is done.
  std::function<void(const SeedState&)> on_progress;
};

struct SeedRun {
  /// Rank 0: all that is done, and its best.
  SeedState state;
  /// Rank 0: the best of all, seeds that were cut short included.
  Seeded best;
  /// Signal that ended the run on all ranks; 0 if none.
  int caught = 0;
};

/// Collective. The best over all seeds in the order of `is_better`, the same for any number of ranks. Where memory cannot overflow, seeds
/// above one that reaches the lower bound are left out: nothing is better, and among equals the lower seed wins.
SeedRun explore_seeds(Judge& judge, const SeedTeamOptions& options, SeedHooks hooks, Ranks& ranks, std::vector<StageTime>& stages);

}  // namespace pardnn
