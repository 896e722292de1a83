#include "search/start_judge.hpp"

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

void StartJudge::judge(Constructed constructed, const std::string& origin, Nanoseconds latest, std::vector<Candidate>& judged) {
  if (judge_.policy() == Policy::priority && !constructed.priority.empty()) {
    Candidate planned;
    if (judge_.score_within_makespan(constructed.device, constructed.priority, latest, planned.score)) {
      planned.device = constructed.device;
      planned.priority = std::move(constructed.priority);
      planned.origin = origin + ", planned order";
      judged.push_back(std::move(planned));
    }
  }
  if (latest < kNever && greatest_load(judge_.costs(), constructed.device) > latest) return;
  if (fifo_) replay_fifo(constructed.device, origin, latest, judged);
  Candidate candidate;
  if (!judge_.score_within_makespan(constructed.device, {}, latest, candidate.score)) return;
  candidate.device = std::move(constructed.device);
  candidate.origin = origin;
  judged.push_back(std::move(candidate));
}

void StartJudge::replay_fifo(const std::vector<DeviceId>& device, const std::string& origin, Nanoseconds latest, std::vector<Candidate>& judged) {
  Candidate candidate;
  if (!fifo_->score_within_makespan(device, {}, latest, candidate.score)) return;
  candidate.priority.resize(device.size());
  std::int64_t rank = 0;
  for (const NodeId v : fifo_->schedule().start_order) candidate.priority[v] = rank--;
  candidate.device = device;
  candidate.origin = origin + ", fifo's order";
  judged.push_back(std::move(candidate));
}

}  // namespace pardnn
