#include "search/overfull_front.hpp"

#include <algorithm>
#include <tuple>

namespace pardnn {
namespace {

bool comes_before(const Score& a, const Score& b) { return std::tie(a.overflow, a.makespan) < std::tie(b.overflow, b.makespan); }

}  // namespace

/// By how many others; of equals none counts.
int OverfullFront::times_beaten(const Candidate& candidate) const {
  int times = 0;
  for (const Candidate& other : candidates_) {
    if (!comes_before(other.score, candidate.score)) break;
    times += other.within_budget == candidate.within_budget && other.score.makespan <= candidate.score.makespan ? 1 : 0;
  }
  return times;
}

void OverfullFront::offer(const Candidate& candidate) {
  const Score& score = candidate.score;
  if (score.feasible() || times_beaten(candidate) >= most_beaten_) return;
  const auto at = std::lower_bound(candidates_.begin(), candidates_.end(), score,
                                   [](const Candidate& kept, const Score& offered) { return comes_before(kept.score, offered); });
  if (at != candidates_.end() && !comes_before(score, at->score)) return;
  candidates_.insert(at, candidate);
  for (std::size_t i = candidates_.size(); i-- > 0;) {
    if (times_beaten(candidates_[i]) >= most_beaten_) candidates_.erase(candidates_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  if (candidates_.size() > capacity_) thin_out();
}

void OverfullFront::thin_out() {
  std::size_t goes = candidates_.size();
  std::vector<std::size_t> front;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (times_beaten(candidates_[i]) == 0) {
      front.push_back(i);
    } else if (goes == candidates_.size() || candidates_[i].score.makespan > candidates_[goes].score.makespan) {
      goes = i;
    }
  }
  if (goes == candidates_.size()) {
    if (front.size() < 3) {
      candidates_.pop_back();
      return;
    }
    const auto difference = [&](std::size_t i) {
      return candidates_[front[i - 1]].score.makespan - candidates_[front[i + 1]].score.makespan;
    };
    std::stable_sort(front.begin(), front.end(), [&](std::size_t a, std::size_t b) {
      return candidates_[a].score.makespan > candidates_[b].score.makespan;
    });
    std::size_t least = 1;
    for (std::size_t i = 2; i + 1 < front.size(); ++i) {
      if (difference(i) < difference(least)) least = i;
    }
    goes = front[least];
  }
  candidates_.erase(candidates_.begin() + static_cast<std::ptrdiff_t>(goes));
}

void OverfullFront::drop_slower(Nanoseconds makespan) {
  candidates_.erase(std::remove_if(candidates_.begin(), candidates_.end(),
                                   [&](const Candidate& kept) { return kept.score.makespan >= makespan; }),
                    candidates_.end());
}

}  // namespace pardnn
