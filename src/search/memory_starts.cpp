#include "search/memory_starts.hpp"

#include <algorithm>
#include <utility>

#include "construct/list_scheduler.hpp"

namespace pardnn {
namespace {

__extension__ using Wide = __int128;

/// A fullest device of at least this share of its usable memory is full.
constexpr Millionths kFull = 975'000;
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
  const Score score = candidate.score;
  pool.keep(std::move(candidate));
  return score;
}

}  // namespace

int add_budgeted(Pool& pool, ListOptions variant, const std::string& name, const BudgetSteps& steps,
                 const std::function<bool()>& should_stop) {
  Judge& judge = pool.judge();
  if (!judge.memory_matters() || variant.method == ListMethod::heft) return 0;
  int runs = 0, raises = 0, cuts = 0;
  for (Millionths share = kOne; share >= kLeastShare && share <= kGreatestShare;) {
    set_budget(variant, judge, share);
    const Score score = run_variant(pool, variant, name + "-mem");
    ++runs;
    const Millionths full = fullness(judge);
    const bool ends = score.feasible() ? full >= kFull || cuts > 0 || raises++ == steps.raises : raises > 0 || cuts++ == steps.cuts;
    if (ends || (should_stop && should_stop())) break;
    share = static_cast<Millionths>(Wide(share) * kOne / full);
  }
  return runs;
}

}  // namespace pardnn
