#include "search/pool.hpp"

#include <algorithm>
#include <utility>

namespace pardnn {

Nanoseconds Pool::latest() const {
  const bool full = candidates_.size() == capacity_ && candidates_.back().score.feasible();
  return full ? candidates_.back().score.makespan : kNever;
}

void Pool::add(std::vector<DeviceId> device, const std::string& origin) {
  Constructed constructed;
  constructed.device = std::move(device);
  add(std::move(constructed), origin);
}

void Pool::add(Constructed constructed, const std::string& origin) {
  std::vector<Candidate> judged;
  starts_.judge(std::move(constructed), origin, latest(), judged);
  for (Candidate& candidate : judged) keep(std::move(candidate));
}

std::vector<Candidate> Pool::take_overfull() {
  std::vector<Candidate> taken = overfull_.candidates();
  overfull_.drop_slower(0);
  return taken;
}

void Pool::keep(Candidate candidate) {
  if (!candidate.score.feasible()) least_unfit_ = std::min(least_unfit_, candidate.score.makespan);
  if (!candidate.score.feasible() && !(!empty() && best().score.feasible() && best().score.makespan <= candidate.score.makespan)) {
    overfull_.offer(candidate);
  }
  const auto at = std::upper_bound(candidates_.begin(), candidates_.end(), candidate,
                                   [](const Candidate& a, const Candidate& b) { return a.score < b.score; });
  // A twin has the same score, so it stands just before.
  if (at != candidates_.begin()) {
    const Candidate& before = *std::prev(at);
    if (before.score == candidate.score && before.device == candidate.device && before.priority == candidate.priority) return;
  }
  const bool is_best = at == candidates_.begin();
  candidates_.insert(at, std::move(candidate));
  if (best().score.feasible()) overfull_.drop_slower(best().score.makespan);
  if (candidates_.size() > capacity_) candidates_.pop_back();
  if (is_best && on_best_) on_best_(best());
}

}  // namespace pardnn
