#include "repair/move_plan.hpp"

#include <oneapi/tbb/parallel_for.h>

#include <algorithm>

namespace pardnn {
namespace {

/// Times that the overfull devices' peaks are looked at in one plan.
constexpr int kMoments = 12;
/// Devices by traffic and by room that a part may go to.
constexpr std::size_t kTargets = 6;
/// Candidates in a row that nobody has room for, after which a device's moment is given up.
constexpr int kMostMisfits = 40;
/// A plan may visit so many nodes and edges for each of the graph, and so many besides.
constexpr std::int64_t kPlanVisits = 16;
constexpr std::int64_t kLeastPlanVisits = 200'000;

class Planner {
 public:
  Planner(Judge& judge, const MoveParts& parts, FrozenRun& frozen, const Refused& refused)
      : judge_(judge), parts_(parts), frozen_(frozen), refused_(refused) {
    const Graph& graph = judge.costs().graph();
    graph_visits_ = graph.num_nodes() + graph.num_edges();
    most_visits_ = frozen.visits() + kPlanVisits * graph_visits_ + kLeastPlanVisits;
  }

  std::vector<Move> plan() {
    const DeviceId devices = judge_.costs().num_devices();
    std::vector<char> stuck(static_cast<std::size_t>(devices), 0);
    for (int moment = 0; moment < kMoments && frozen_.visits() < most_visits_; ++moment) {
      std::vector<Nanoseconds> at(static_cast<std::size_t>(devices), -1);
      bool any = false;
      for (DeviceId d = 0; d < devices; ++d) {
        if (stuck[d] != 0 || frozen_.excess(d) <= 0) continue;
        at[d] = frozen_.time_of(frozen_.peak_slot(d));
        any = true;
      }
      if (!any) break;
      const std::vector<MoveCandidate> candidates = move_candidates(judge_, parts_, frozen_.device(), at, Claim::alone);
      frozen_.add_visits(graph_visits_);
      for (DeviceId d = 0; d < devices; ++d) {
        if (at[d] >= 0 && frozen_.excess(d) > 0) stuck[d] = relieve(d, candidates) ? 0 : 1;
      }
    }
    return std::move(moves_);
  }

 private:
  /// Moves parts off p until nothing is too much at its peak's moment. False if something still is.
  bool relieve(DeviceId p, const std::vector<MoveCandidate>& candidates) {
    const std::int64_t slot = frozen_.peak_slot(p);
    CandidateHeaps heaps(frozen_.excess_at(p, slot));
    tbb::parallel_for(std::size_t{0}, candidates.size(), [&](std::size_t i) {
      if (candidates[i].device == p && !refused_.contains(candidates[i].part)) heaps.push(candidates[i]);
    });
    for (int misfits = 0; misfits < kMostMisfits && frozen_.excess_at(p, slot) > 0 && frozen_.visits() < most_visits_;) {
      const auto candidate = heaps.pop();
      if (!candidate) break;
      parts_.nodes_on(candidate->part, frozen_.device(), p, nodes_);
      if (nodes_.empty()) continue;
      misfits = try_targets(*candidate, p, slot) ? 0 : misfits + 1;
    }
    return frozen_.excess_at(p, slot) <= 0;
  }

  /// Moves the part to the first likely device that has room for it for as long as it is there. False if there is none.
  bool try_targets(const MoveCandidate& candidate, DeviceId p, std::int64_t slot) {
    const Bytes peak = frozen_.excess(p), here = frozen_.excess_at(p, slot);
    const std::vector<DeviceId> targets = likely_targets(judge_.costs(), frozen_, nodes_, p, kTargets);
    for (const DeviceId q : targets) {
      // What leaves p mostly goes to q; not what q has already, which it is most likely to have if much goes between them.
      if (q != targets.front() && frozen_.excess_at(q, slot) + candidate.potential > 0) continue;
      const Bytes room = std::max<Bytes>(0, frozen_.excess(q));
      frozen_.move(nodes_, q);
      if (frozen_.excess_at(p, slot) < here && frozen_.excess(p) <= peak && frozen_.excess(q) <= room) {
        moves_.push_back({candidate.part, p, q});
        return true;
      }
      frozen_.undo();
    }
    return false;
  }

  Judge& judge_;
  const MoveParts& parts_;
  FrozenRun& frozen_;
  const Refused& refused_;
  std::int64_t graph_visits_ = 0, most_visits_ = 0;
  std::vector<Move> moves_;
  std::vector<NodeId> nodes_;
};

}  // namespace

std::vector<DeviceId> likely_targets(const CostModel& costs, const FrozenRun& frozen, std::span<const NodeId> nodes, DeviceId from,
                                     std::size_t count) {
  const Graph& graph = costs.graph();
  const std::vector<DeviceId>& device = frozen.device();
  std::vector<Nanoseconds> traffic(static_cast<std::size_t>(costs.num_devices()), 0);
  for (const NodeId v : nodes) {
    for (EdgeId e = graph.out_begin(v); e < graph.out_end(v); ++e) traffic[device[graph.target(e)]] += costs.mean_cost(e);
    for (EdgeId i = graph.in_begin(v); i < graph.in_end(v); ++i) {
      traffic[device[graph.source(i)]] += costs.mean_cost(graph.in_edge(i));
    }
  }
  std::vector<DeviceId> by_traffic, by_room;
  for (DeviceId d = 0; d < costs.num_devices(); ++d) {
    if (d != from) by_traffic.push_back(d);
  }
  by_room = by_traffic;
  std::stable_sort(by_traffic.begin(), by_traffic.end(), [&](DeviceId a, DeviceId b) {
    return traffic[a] != traffic[b] ? traffic[a] > traffic[b] : frozen.excess(a) < frozen.excess(b);
  });
  if (by_traffic.size() <= count) return by_traffic;
  std::stable_sort(by_room.begin(), by_room.end(), [&](DeviceId a, DeviceId b) { return frozen.excess(a) < frozen.excess(b); });
  std::vector<DeviceId> targets(by_traffic.begin(), by_traffic.begin() + static_cast<std::ptrdiff_t>((count + 1) / 2));
  for (const DeviceId d : by_room) {
    if (targets.size() >= count) break;
    if (std::find(targets.begin(), targets.end(), d) == targets.end()) targets.push_back(d);
  }
  return targets;
}

std::vector<Move> plan_moves(Judge& judge, const MoveParts& parts, FrozenRun& frozen, const Refused& refused) {
  return Planner(judge, parts, frozen, refused).plan();
}

}  // namespace pardnn
