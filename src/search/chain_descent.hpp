/// Improves a placement along the chain that causes its makespan, by moves that are probed on partial re-runs.
#pragma once

#include <cstdint>
#include <functional>

#include "judge/judge.hpp"
#include "search/candidate.hpp"

namespace pardnn {

struct DescentOptions {
  /// Node starts that probes, and nodes and edges that whole runs, may cost in all.
  std::int64_t visits = 10'000'000;
  std::uint64_t seed = 1;
  int threads = 1;  ///< that probe; the result does not depend on it
  /// Stop once this makespan is reached (a lower bound).
  Nanoseconds good_enough = 0;
  std::function<bool()> should_stop;
};

/// Passes along the chain: for each link that waited for a busy device or for another device's output, moves of a node or of
/// a run of the chain's nodes (and, under Policy::priority, changes of order) are probed; those that let the next links start
/// earlier are collected where they do not overlap in time, applied together, judged by one emulated run, and
/// halved on failure. Ends when a pass gains nothing or the budget is spent. Never worse than `start`, whose score must be set.
Candidate descend_chain(Judge& judge, Candidate start, const DescentOptions& options);

}  // namespace pardnn
