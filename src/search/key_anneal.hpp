/// Simulated annealing over the list that a list scheduler works off: the scheduler turns each list into a placement and
/// an order, the emulated run judges it.
#pragma once

#include <cstdint>
#include <functional>

#include "construct/list_options.hpp"
#include "judge/judge.hpp"
#include "search/candidate.hpp"

namespace pardnn {

struct KeyAnnealOptions {
  /// The scheduler; its bottom_levels are what is annealed, from the plain ones on.
  ListOptions decoder;
  std::int64_t runs = 10'000;  ///< lists decoded and judged
  std::uint64_t seed = 1;
  std::int64_t start_millionths = 3'000;
  std::int64_t end_millionths = 30;
  Nanoseconds good_enough = 0;
  std::function<bool()> should_stop;
};

/// The best candidate that any list led to. Deterministic in `options`.
Candidate anneal_keys(Judge& judge, const KeyAnnealOptions& options);

}  // namespace pardnn
