#include "search/pool.hpp"

#include <algorithm>
#include <utility>

namespace pardnn {

void Pool::add(std::vector<DeviceId> device, const std::string& origin) {
  Candidate candidate;
  candidate.score = judge_.score(device);
  candidate.device = std::move(device);
  candidate.origin = origin;
  keep(std::move(candidate));
}

void Pool::add(Constructed constructed, const std::string& origin) {
  if (judge_.policy() == Policy::priority && !constructed.priority.empty()) {
    Candidate planned;
    planned.score = judge_.score(constructed.device, constructed.priority);
    planned.device = constructed.device;
    planned.priority = std::move(constructed.priority);
    planned.origin = origin + ", planned order";
    keep(std::move(planned));
  }
  add(std::move(constructed.device), origin);
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
