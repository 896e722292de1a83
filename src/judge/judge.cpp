#include "judge/judge.hpp"

#include <algorithm>
#include <limits>

namespace pardnn {
namespace {

/// Least time from each node's start to the end of any run: durations on the fastest device, no communication.
std::vector<Nanoseconds> least_tails(const CostModel& costs) {
  const Graph& graph = costs.graph();
  const Millionths fastest = costs.machine().fastest_speed();
  std::vector<Nanoseconds> tail(static_cast<std::size_t>(graph.num_nodes()));
  for (NodeId v = graph.num_nodes() - 1; v >= 0; --v) {
    Nanoseconds after = 0;
    for (EdgeId e = graph.out_begin(v); e < graph.out_end(v); ++e) after = std::max(after, tail[graph.target(e)]);
    tail[v] = after + ceil_mul_div(graph.comp(v), kOne, fastest);
  }
  return tail;
}

/// No device can ever hold more than this: every residual, buffer, workspace, and one copy of every edge.
bool can_overflow(const CostModel& costs) {
  const Graph& graph = costs.graph();
  __extension__ using Wide = __int128;
  Wide most = graph.total_bytes();
  for (NodeId v = 0; v < graph.num_nodes(); ++v) most += Wide(graph.mem(v)) + graph.temp(v);
  for (DeviceId d = 0; d < costs.num_devices(); ++d) {
    if (most > costs.machine().usable(d)) return true;
  }
  return false;
}

}  // namespace

Judge::Judge(const CostModel& costs, Policy policy)
    : costs_(&costs), policy_(policy), emulator_(costs), tracker_(costs), tail_(least_tails(costs)),
      memory_matters_(can_overflow(costs)) {
  for (DeviceId d = 0; d < costs.num_devices(); ++d) usable_.push_back(costs.machine().usable(d));
}

Score Judge::track(std::span<const DeviceId> device) {
  Score score;
  score.makespan = emulator_.schedule().makespan;
  if (!memory_matters_) return score;
  peaks_ = tracker_.track(device, emulator_.schedule(), emulator_.delivered());
  for (DeviceId d = 0; d < costs_->num_devices(); ++d) {
    score.peak = std::max(score.peak, peaks_.peak[d]);
    score.overflow += std::max<Bytes>(0, peaks_.peak[d] - usable_[d]);
  }
  return score;
}

Score Judge::score(std::span<const DeviceId> device, std::span<const std::int64_t> priority) {
  ++runs_;
  emulator_.run(device, policy_, priority);
  return track(device);
}

bool Judge::score_within_makespan(std::span<const DeviceId> device, std::span<const std::int64_t> priority,
                                  Nanoseconds latest, Score& score) {
  ++runs_;
  if (!emulator_.run_within(device, policy_, priority, latest, tail_)) return false;
  score = track(device);
  return true;
}

bool Judge::score_within(std::span<const DeviceId> device, std::span<const std::int64_t> priority, const Score& limit, Score& score) {
  const Nanoseconds latest = limit.feasible() ? limit.makespan : std::numeric_limits<Nanoseconds>::max();
  return score_within_makespan(device, priority, latest, score) && !(limit < score);
}

}  // namespace pardnn
