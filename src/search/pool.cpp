#include "search/pool.hpp"

#include <algorithm>
#include <utility>

namespace pardnn {

namespace {

/// No run of `device` is shorter than this: the most that one device has to do. O(V).
Nanoseconds greatest_load(const CostModel& costs, std::span<const DeviceId> device) {
  std::vector<Nanoseconds> load(static_cast<std::size_t>(costs.num_devices()), 0);
  for (NodeId v = 0; v < costs.graph().num_nodes(); ++v) load[device[v]] += costs.duration(v, device[v]);
  return load.empty() ? 0 : *std::max_element(load.begin(), load.end());
}

}  // namespace

Nanoseconds Pool::latest() const {
  const bool full = candidates_.size() == capacity_ && candidates_.back().score.feasible();
  return full ? candidates_.back().score.makespan : kNever;
}

void Pool::add(std::vector<DeviceId> device, const std::string& origin) {
  if (latest() < kNever && greatest_load(judge_.costs(), device) > latest()) return;
  if (fifo_) replay_fifo(device, origin);
  Candidate candidate;
  if (!judge_.score_within_makespan(device, {}, latest(), candidate.score)) return;
  candidate.device = std::move(device);
  candidate.origin = origin;
  keep(std::move(candidate));
}

void Pool::replay_fifo(const std::vector<DeviceId>& device, const std::string& origin) {
  Candidate candidate;
  if (!fifo_->score_within_makespan(device, {}, latest(), candidate.score)) return;
  candidate.priority.resize(device.size());
  std::int64_t rank = 0;
  for (const NodeId v : fifo_->schedule().start_order) candidate.priority[v] = rank--;
  candidate.device = device;
  candidate.origin = origin + ", fifo's order";
  keep(std::move(candidate));
}

void Pool::add(Constructed constructed, const std::string& origin) {
  if (judge_.policy() == Policy::priority && !constructed.priority.empty()) {
    Candidate planned;
    if (judge_.score_within_makespan(constructed.device, constructed.priority, latest(), planned.score)) {
      planned.device = constructed.device;
      planned.priority = std::move(constructed.priority);
      planned.origin = origin + ", planned order";
      keep(std::move(planned));
    }
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
