/// The whole pipeline on many ranks. Private: `partition` is the same on one.
#pragma once

#include <functional>

#include "pardnn/partition.hpp"
#include "ranks/ranks.hpp"
#include "seeds/seed_team.hpp"

namespace pardnn {

struct RanksHooks {
  SeedHooks seeds;
  /// Rank 0, when `seeds.wants_result` says so: the best so far as a whole result. The run goes on. May be empty.
  std::function<void(const Result&)> write_result;
};

struct RanksResult {
  /// Whole on rank 0; the others have their stages and warnings only.
  Result result;
  SeedState seeds;
  /// Signal that ended the run on all ranks; 0 if none.
  int caught = 0;
};

/// Collective. The same result for any number of ranks; graph, machine and options must be the same on all.
RanksResult partition_on(Ranks& ranks, const Graph& graph, const Machine& machine, const Options& options, RanksHooks hooks);

}  // namespace pardnn
