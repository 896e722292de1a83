/// What is done to the best starts: descents, annealing, rebuilt windows, each judged by the emulated run.
#pragma once

#include <cstdint>
#include <functional>

#include "pardnn/options.hpp"
#include "parallel/stage_timer.hpp"
#include "search/pool.hpp"

namespace pardnn {

struct ImprovementOptions {
  Preset preset = Preset::standard;  ///< standard or strong
  std::uint64_t seed = 1;
  /// A makespan that no placement beats: nothing is left to search once it is reached.
  Nanoseconds lower_bound = 0;
  std::function<bool()> should_stop;  ///< may be empty
};

/// `standard`: one round of everything, within a budget of work. `strong`: the same, then further rounds from the best few, until
/// several in a row gain next to nothing. The pool must not be empty. Deterministic, should_stop aside.
void improve_pool(Pool& pool, const ImprovementOptions& options, StageClock& clock);

}  // namespace pardnn
