/// The placements that a report sets beside the one that it is about.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "costs/cost_model.hpp"
#include "pardnn/placement.hpp"

namespace pardnn {

struct Rival {
  std::string name, what;
  Nanoseconds makespan = 0;
  Bytes peak = 0;  ///< of the fullest device
  bool feasible = false;
};

struct Rivals {
  std::vector<Rival> known;
  /// Names of those that would have taken more than the limit.
  std::vector<std::string> skipped;
};

/// Work that a report spends on one list scheduler at most: nodes and edges times devices. HEFT and ETF take some 5 s of one core for half of it.
inline constexpr std::int64_t kRivalWork = 100'000'000;

/// Single device, round robin, blocks, HEFT and ETF, each emulated under `policy`. The schedulers are skipped beyond `limit` of (V + E) K.
Rivals find_rivals(const CostModel& costs, Policy policy, std::int64_t limit = kRivalWork);

}  // namespace pardnn
