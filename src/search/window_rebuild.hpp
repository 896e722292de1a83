/// Large-neighbourhood search in time: what starts within a window of the run is placed anew by a list scheduler.
#pragma once

#include <cstdint>
#include <functional>

#include "judge/judge.hpp"
#include "search/candidate.hpp"

namespace pardnn {

struct RebuildOptions {
  std::int64_t runs = 100;  ///< windows rebuilt and judged
  std::uint64_t seed = 1;
  int threads = 1;  ///< that rebuild; the result does not depend on it
  /// Stop once this makespan is reached (a lower bound).
  Nanoseconds good_enough = 0;
  std::function<bool()> should_stop;
};

/// Windows of 1/64 to 1/3 of the makespan, anywhere; EIL with varied options gives the units that start there their devices,
/// within the emulated run of all the others. A result that is judged no worse takes the place of the current one. Never
/// worse than `start`, whose score must be set. Deterministic in (start, options). O((V + E) log V) for each run.
Candidate rebuild_windows(Judge& judge, Candidate start, const RebuildOptions& options);

}  // namespace pardnn
