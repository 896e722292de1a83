#include "repair/overflow_repair.hpp"

#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <utility>

#include "repair/move_candidates.hpp"

namespace pardnn {
namespace {

struct Move {
  UnitId unit;
  DeviceId from, to;
};

class Repair {
 public:
  Repair(Judge& judge, std::vector<DeviceId> device, std::vector<std::int64_t> priority, const RepairOptions& options)
      : judge_(judge), graph_(judge.costs().graph()), options_(options),
        banned_(static_cast<std::size_t>(graph_.num_units()), 0) {
    result_.device = std::move(device);
    result_.priority = std::move(priority);
  }

  Repaired run() {
    result_.score = judge_.score(result_.device, result_.priority);
    for (int round = 0; round < options_.rounds && !result_.score.feasible(); ++round) {
      if (options_.should_stop && options_.should_stop()) break;
      std::vector<Move> moves = plan_round();
      if (moves.empty() || !keep_what_helps(moves)) break;
    }
    return std::move(result_);
  }

 private:
  /// Moves for every device that overflows, against the run that was judged last (the current placement).
  std::vector<Move> plan_round() {
    const DeviceId devices = judge_.costs().num_devices();
    std::vector<Nanoseconds> at(static_cast<std::size_t>(devices), -1);
    std::vector<Bytes> room(static_cast<std::size_t>(devices));
    for (DeviceId d = 0; d < devices; ++d) {
      room[d] = judge_.usable(d) - judge_.peaks().peak[d];
      if (room[d] < 0) at[d] = judge_.peaks().peak_time[d];
    }
    const std::vector<MoveCandidate> candidates = move_candidates(judge_, result_.device, at);
    std::vector<Move> moves;
    for (DeviceId p = 0; p < devices; ++p) {
      if (at[p] >= 0) plan_device(p, candidates, room, moves);
    }
    return moves;
  }

  void plan_device(DeviceId p, const std::vector<MoveCandidate>& candidates, std::vector<Bytes>& room, std::vector<Move>& moves) {
    Bytes overflow = -room[p];
    CandidateHeaps heaps(overflow);
    tbb::parallel_for(std::size_t{0}, candidates.size(), [&](std::size_t i) {
      const UnitId unit = candidates[i].unit;
      if (result_.device[graph_.unit_nodes(unit).front()] == p && !is_banned(unit, p)) heaps.push(candidates[i]);
    });
    while (overflow > 0) {
      const auto candidate = heaps.pop();
      if (!candidate) break;
      const DeviceId q = best_target(*candidate, p, room);
      if (q == kNoDevice) continue;
      moves.push_back({candidate->unit, p, q});
      overflow -= candidate->potential;
      room[q] -= candidate->potential;
    }
  }

  /// Where the unit communicates most among the devices that can hold what it frees; more room, then the lower index, on ties.
  DeviceId best_target(const MoveCandidate& candidate, DeviceId from, const std::vector<Bytes>& room) const {
    const DeviceId devices = judge_.costs().num_devices();
    std::vector<Nanoseconds> traffic(static_cast<std::size_t>(devices), 0);
    for (const NodeId v : graph_.unit_nodes(candidate.unit)) {
      for (EdgeId e = graph_.out_begin(v); e < graph_.out_end(v); ++e) {
        traffic[result_.device[graph_.target(e)]] += judge_.costs().mean_cost(e);
      }
      for (EdgeId i = graph_.in_begin(v); i < graph_.in_end(v); ++i) {
        traffic[result_.device[graph_.source(i)]] += judge_.costs().mean_cost(graph_.in_edge(i));
      }
    }
    DeviceId best = kNoDevice;
    for (DeviceId q = 0; q < devices; ++q) {
      if (q == from || room[q] < candidate.potential || is_banned(candidate.unit, q)) continue;
      if (best == kNoDevice || traffic[q] > traffic[best] || (traffic[q] == traffic[best] && room[q] > room[best])) best = q;
    }
    return best;
  }

  void apply(const std::vector<Move>& moves, bool forward) {
    for (const Move& move : moves) {
      for (const NodeId v : graph_.unit_nodes(move.unit)) result_.device[v] = forward ? move.to : move.from;
    }
  }

  /// Keeps the moves, or the first half, quarter, ... of them, if that lowers the overflow. A first move that does not
  /// help is banned, so that the next round tries others. False if the repair should end.
  bool keep_what_helps(std::vector<Move>& moves) {
    while (true) {
      apply(moves, true);
      const Score score = judge_.score(result_.device, result_.priority);
      if (score < result_.score) {
        result_.score = score;
        result_.moved_units += static_cast<std::int64_t>(moves.size());
        for (const Move& move : moves) ban(move.unit, move.from);
        failures_ = 0;
        return true;
      }
      apply(moves, false);
      if (moves.size() == 1) break;
      moves.resize(moves.size() / 2);
    }
    ban(moves.front().unit, moves.front().from);
    result_.score = judge_.score(result_.device, result_.priority);  // the run that plan_round reads
    return ++failures_ < kMaxFailures;
  }

  // A unit that left a device never comes back to it, and one whose move did not help stays. Devices beyond 63 share bits.
  bool is_banned(UnitId unit, DeviceId d) const { return (banned_[unit] >> (d & 63)) & 1; }
  void ban(UnitId unit, DeviceId d) { banned_[unit] |= std::uint64_t{1} << (d & 63); }

  static constexpr int kMaxFailures = 24;

  Judge& judge_;
  const Graph& graph_;
  const RepairOptions& options_;
  Repaired result_;
  std::vector<std::uint64_t> banned_;
  int failures_ = 0;
};

}  // namespace

Repaired repair_overflow(Judge& judge, std::vector<DeviceId> device, std::vector<std::int64_t> priority,
                         const RepairOptions& options) {
  return Repair(judge, std::move(device), std::move(priority), options).run();
}

}  // namespace pardnn
