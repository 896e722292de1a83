#include "search/overfull_front.hpp"

#include <algorithm>

namespace pardnn {

void OverfullFront::offer(const Candidate& candidate) {
  const Score& score = candidate.score;
  if (score.feasible()) return;
  // Those from `at` on have more overflow, so they are beaten unless they are shorter.
  auto at = std::lower_bound(candidates_.begin(), candidates_.end(), score,
                             [](const Candidate& kept, const Score& offered) { return kept.score.overflow < offered.overflow; });
  if (at != candidates_.begin() && std::prev(at)->score.makespan <= score.makespan) return;
  if (at != candidates_.end() && at->score.overflow == score.overflow && at->score.makespan <= score.makespan) return;
  const auto beaten = std::find_if(at, candidates_.end(), [&](const Candidate& kept) { return kept.score.makespan < score.makespan; });
  at = candidates_.erase(at, beaten);
  candidates_.insert(at, candidate);
  if (candidates_.size() > capacity_) thin_out();
}

void OverfullFront::thin_out() {
  if (candidates_.size() < 3) {
    candidates_.pop_back();
    return;
  }
  std::size_t least = 1;
  const auto difference = [&](std::size_t i) { return candidates_[i - 1].score.makespan - candidates_[i + 1].score.makespan; };
  for (std::size_t i = 2; i + 1 < candidates_.size(); ++i) {
    if (difference(i) < difference(least)) least = i;
  }
  candidates_.erase(candidates_.begin() + static_cast<std::ptrdiff_t>(least));
}

void OverfullFront::drop_slower(Nanoseconds makespan) {
  const auto shorter = std::find_if(candidates_.begin(), candidates_.end(), [&](const Candidate& kept) { return kept.score.makespan < makespan; });
  candidates_.erase(candidates_.begin(), shorter);
}

}  // namespace pardnn
