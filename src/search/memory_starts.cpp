#include "search/memory_starts.hpp"

#include <algorithm>
#include <utility>

#include "construct/list_scheduler.hpp"

namespace pardnn {
namespace {

__extension__ using Wide = __int128;

/// A fullest device of at least this share of its usable memory is full.
constexpr Millionths kFull = 975'000;
/// Shares are not told apart any further.
constexpr Millionths kClose = 10'000;
/// Budgets stay between these shares of usable memory.
constexpr Millionths kLeastShare = 300'000, kGreatestShare = 4 * kOne;

void set_budget(ListOptions& variant, const Judge& judge, Millionths share) {
  variant.budget.clear();
  for (DeviceId d = 0; d < judge.costs().num_devices(); ++d) {
    variant.budget.push_back(static_cast<Bytes>(Wide(judge.usable(d)) * share / kOne));
  }
}

/// The greatest share of its usable memory that a device holds at its peak, in the run judged last.
Millionths fullness(const Judge& judge) {
  Wide greatest = 1;
  for (DeviceId d = 0; d < judge.costs().num_devices(); ++d) {
    greatest = std::max(greatest, Wide(judge.peaks().peak[d]) * kOne / std::max<Bytes>(judge.usable(d), 1));
  }
  return static_cast<Millionths>(std::min<Wide>(greatest, Wide(kOne) * kOne));
}

/// One run; what it gives goes to the pool.
Score run_variant(Pool& pool, const ListOptions& variant, const std::string& name) {
  Judge& judge = pool.judge();
  Constructed constructed = construct_list(judge.costs(), variant);
  Candidate candidate;
  candidate.device = std::move(constructed.device);
  if (judge.policy() == Policy::priority) candidate.priority = std::move(constructed.priority);
  candidate.score = judge.score(candidate.device, candidate.priority);
  candidate.origin = name;
  candidate.within_budget = true;
  const Score score = candidate.score;
  pool.keep(std::move(candidate));
  return score;
}

}  // namespace

int add_budgeted(Pool& pool, ListOptions variant, const std::string& name, int runs, const std::function<bool()>& should_stop) {
  Judge& judge = pool.judge();
  if (!judge.memory_matters() || variant.method == ListMethod::heft) return 0;
  Millionths fitted = 0, overfull = kGreatestShare;  // the greatest share that fitted, the least above it that did not
  Millionths share = kOne;
  for (int run = 1; run <= runs; ++run) {
    set_budget(variant, judge, share);
    const Score score = run_variant(pool, variant, name + "-mem");
    const Millionths full = fullness(judge);
    if (should_stop && should_stop()) return run;
    if (score.feasible()) {
      fitted = std::max(fitted, share);
      if (full >= kFull) return run;
    } else {
      overfull = std::min(overfull, share);
    }
    if (overfull - fitted < kClose) return run;
    share = static_cast<Millionths>(Wide(share) * kOne / full);
    const bool outside = share <= fitted || share >= overfull;
    if (outside) share = fitted == 0 || overfull == kGreatestShare ? 0 : fitted + (overfull - fitted) / 2;
    if (share < kLeastShare) return run;
  }
  return runs;
}

}  // namespace pardnn
