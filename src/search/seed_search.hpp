/// One seed's search: starts, repair where nothing fits, improvement.
#pragma once

#include <cstdint>
#include <vector>

#include "judge/judge.hpp"
#include "pardnn/options.hpp"
#include "parallel/stage_timer.hpp"
#include "search/candidate.hpp"

namespace pardnn {

struct SeedSearchOptions {
  Preset preset = Preset::standard;
  std::uint64_t seed = 1;
  /// A makespan that no placement beats: nothing is left to search once it is reached.
  Nanoseconds lower_bound = 0;
  /// A placement to start from beside the own starts; may be null.
  const Placement* start = nullptr;
  std::function<bool()> should_stop;
  /// Told of each best candidate so far; may be empty.
  std::function<void(const Candidate&)> on_best;
};

/// The best candidate that this seed leads to. Deterministic in (costs, policy, options), should_stop aside.
Candidate search_seed(Judge& judge, const SeedSearchOptions& options, StageClock& clock);

}  // namespace pardnn
