/// Simulated annealing over placements (and orders, under Policy::priority), every candidate judged by a full emulation.
/// For graphs on which an emulation costs little; larger ones use chain moves on partial re-runs.
#pragma once

#include <cstdint>
#include <functional>

#include "judge/judge.hpp"
#include "search/candidate.hpp"

namespace pardnn {

struct AnnealOptions {
  std::int64_t runs = 10'000;      ///< candidates judged
  std::uint64_t seed = 1;
  std::int64_t start_millionths = 20'000;  ///< first temperature, in millionths of the makespan
  std::int64_t end_millionths = 30;        ///< last temperature
  /// Stop once this makespan is reached (a lower bound).
  Nanoseconds good_enough = 0;
  std::function<bool()> should_stop;
};

/// The best candidate seen; never worse than `start`, whose score must be set. Deterministic in (start, options).
Candidate anneal(Judge& judge, Candidate start, const AnnealOptions& options);

}  // namespace pardnn
