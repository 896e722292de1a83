#include "repair/overflow_repair.hpp"

#include <algorithm>
#include <utility>

#include "parallel/random.hpp"
#include "repair/frozen_run.hpp"
#include "repair/frozen_search.hpp"
#include "repair/move_plan.hpp"
#include "repair/trial_moves.hpp"

namespace pardnn {
namespace {

/// Plans in a row of which not even the first move helped.
constexpr int kMostFailures = 12;
/// Plans that may follow one that did not help.
constexpr int kMostFurther = 5;
/// Trials that are emulated before random moves are tried.
constexpr std::size_t kMostTrials = 256;
/// Random moves at once, at most, and how many times they are tried before the repair gives up.
constexpr std::uint64_t kMostRandomMoves = 3;
constexpr int kMostRandomTries = 200;
/// How far before what is held the node may be whose move delays it.
constexpr std::uint64_t kMostSteps = 4;
/// Searches on a frozen run in a row that may fail, each for this part of the visits that are left.
constexpr int kFrozenSearches = 4;
constexpr std::int64_t kFrozenShare = 16;
/// ... and at most for the visits of so many runs.
constexpr std::int64_t kMostFrozenVisits = 500;
constexpr std::uint64_t kStage = 0x726570616972;  // "repair"

class Repair {
 public:
  Repair(Judge& judge, std::vector<DeviceId> device, std::vector<std::int64_t> priority, const RepairOptions& options)
      : judge_(judge), graph_(judge.costs().graph()), options_(options), parts_(graph_, options.group_of_node),
        frozen_(judge.costs()), refused_(parts_.num_parts()), run_visits_(2 * (graph_.num_nodes() + graph_.num_edges()) + 64),
        visits_left_(std::max(options.visits, options.least_runs * run_visits_)) {
    result_.device = std::move(device);
    result_.priority = std::move(priority);
  }

  Repaired run() {
    result_.score = score(result_.device);
    for (int round = 0; round < options_.rounds && !result_.score.feasible() && may_go_on(); ++round) {
      refused_.clear();
      if (!follow_a_plan() && !try_other_moves() && !try_random_moves()) break;
    }
    result_.visits = std::max(options_.visits, options_.least_runs * run_visits_) - visits_left_;
    return std::move(result_);
  }

 private:
  bool may_go_on() const { return visits_left_ >= run_visits_ && !(options_.should_stop && options_.should_stop()); }

  Score score(const std::vector<DeviceId>& device) {
    visits_left_ -= run_visits_;
    const Score judged = judge_.score(device, result_.priority);
    last_overflow_ = judged.overflow;
    return judged;
  }

  /// A plan for `device`, which was judged last. Leaves its moves done in frozen_.
  std::vector<Move> plan(const std::vector<DeviceId>& device) {
    frozen_.freeze(judge_, device);
    std::vector<Move> moves = plan_moves(judge_, parts_, frozen_, refused_);
    visits_left_ -= frozen_.visits();
    return moves;
  }

  /// True if a plan helped, or others after it, or the beginning of one. A first move that does not help is refused, so
  /// that the next plan tries others.
  bool follow_a_plan() {
    for (int failures = 0; failures < kMostFailures && may_go_on(); ++failures) {
      if (failures > 0) score(result_.device);  // the run that a plan is made for
      std::vector<Move> moves = plan(result_.device);
      if (moves.empty()) return false;
      const Move first = moves.front();
      if (keep_if_better(moves)) return true;
      if (failures == 0 && follow_further(moved(result_.device, moves), static_cast<std::int64_t>(moves.size()))) return true;
      for (moves.resize(moves.size() / 2); !moves.empty() && may_go_on(); moves.resize(moves.size() / 2)) {
        if (keep_if_better(moves)) return true;
      }
      refused_.add(first.part);
    }
    return false;
  }

  /// A plan changes times, which may cause overflow elsewhere; further plans may cure that. `device`, `count` moves from
  /// the result, was judged last.
  bool follow_further(std::vector<DeviceId> device, std::int64_t count) {
    for (int step = 0; step < kMostFurther && may_go_on(); ++step) {
      const std::vector<Move> further = plan(device);
      if (further.empty()) return false;
      device = moved(std::move(device), further);
      count += static_cast<std::int64_t>(further.size());
      const Bytes before = last_overflow_;
      if (keep_if_better(device, count)) return true;
      if (last_overflow_ >= before) return false;
    }
    return false;
  }

  /// Single moves keep the makespan low, but are slow: when most of the visits are gone, many moves at once come first.
  bool try_other_moves() {
    const bool many_first = options_.many_first || visits_left_ < std::max(options_.visits, options_.least_runs * run_visits_) / 4;
    return many_first ? search_frozen_runs() || try_single_moves() : try_single_moves() || search_frozen_runs();
  }

  /// Of one search: no more for a small graph than it can use.
  std::int64_t frozen_visits() const { return std::min(visits_left_ / kFrozenShare, kMostFrozenVisits * run_visits_); }

  /// True if one of a few searches on the frozen run helped, or the plans after it.
  bool search_frozen_runs() {
    for (int i = 0; i < kFrozenSearches && may_go_on(); ++i) {
      score(result_.device);
      frozen_.freeze(judge_, result_.device);
      const std::vector<Move> moves = search_frozen(judge_, parts_, frozen_, frozen_visits(), draws_++);
      visits_left_ -= frozen_.visits();
      if (moves.empty()) continue;
      std::vector<DeviceId> device = moved(result_.device, moves);
      const std::int64_t count = static_cast<std::int64_t>(moves.size());
      if (keep_if_better(device, count) || follow_further(std::move(device), count)) return true;
    }
    return false;
  }

  /// True if a single move or a swap helped.
  bool try_single_moves() {
    if (!may_go_on()) return false;
    refused_.clear();
    score(result_.device);
    frozen_.freeze(judge_, result_.device);
    const std::vector<TrialMove> trials = trial_moves(judge_, parts_, frozen_, refused_, visits_left_ / 8);
    std::vector<Move> batch = take_together(trials);
    visits_left_ -= frozen_.visits() + run_visits_;
    for (; batch.size() > 2 && may_go_on(); batch.resize(batch.size() / 2)) {
      if (keep_if_better(batch)) return true;
    }
    for (std::size_t i = 0; i < std::min(trials.size(), kMostTrials) && may_go_on(); ++i) {
      std::vector<Move> moves{trials[i].move};
      if (trials[i].back.part != MoveParts::kNone) moves.push_back(trials[i].back);
      if (keep_if_better(moves)) return true;
    }
    return false;
  }

  /// Those of the trials, from the first on, that each lower the estimated overflow when done after one another.
  std::vector<Move> take_together(const std::vector<TrialMove>& trials) {
    std::vector<Move> batch;
    const std::int64_t most_visits = frozen_.visits() + visits_left_ / 8;
    for (const TrialMove& trial : trials) {
      if (frozen_.overflow() == 0 || frozen_.visits() > most_visits) break;
      const Bytes before = frozen_.overflow();
      const bool moved_out = do_estimated(trial.move), moved_back = moved_out && do_estimated(trial.back);
      if (frozen_.overflow() < before) {
        if (moved_out) batch.push_back(trial.move);
        if (moved_back) batch.push_back(trial.back);
        continue;
      }
      if (moved_back) frozen_.undo();
      if (moved_out) frozen_.undo();
    }
    return batch;
  }

  bool do_estimated(const Move& move) {
    if (move.part == MoveParts::kNone) return false;
    parts_.nodes_on(move.part, frozen_.device(), move.from, nodes_);
    if (nodes_.empty()) return false;
    frozen_.move(nodes_, move.to);
    return true;
  }

  /// True if a few random moves of what is on an overfull device, or of what that waits for, and the plans after them, helped.
  bool try_random_moves() {
    if (!may_go_on()) return false;
    score(result_.device);
    const std::vector<MoveCandidate> holders = overfull_holders();
    if (holders.empty() || judge_.costs().num_devices() < 2) return false;
    for (int i = 0; i < kMostRandomTries && may_go_on(); ++i) {
      std::vector<Move> moves;
      for (std::uint64_t more = 1 + draw(kMostRandomMoves); more > 0; --more) {
        const MoveCandidate& holder = holders[draw(holders.size())];
        const Move from = draw(2) == 0 ? Move{holder.part, holder.device, 0} : ancestor_of(holder);
        if (from.part == MoveParts::kNone) continue;
        const DeviceId other = static_cast<DeviceId>(draw(static_cast<std::uint64_t>(judge_.costs().num_devices()) - 1));
        moves.push_back({from.part, from.from, other < from.from ? other : other + 1});
      }
      std::vector<DeviceId> device = moved(result_.device, moves);
      const std::int64_t count = static_cast<std::int64_t>(moves.size());
      if (keep_if_better(device, count) || follow_further(std::move(device), count)) return true;
    }
    return false;
  }

  /// The unit of a node a few edges before one of the holder's: on another device it may run, and all after it, when there is room.
  Move ancestor_of(const MoveCandidate& holder) {
    parts_.nodes_on(holder.part, result_.device, holder.device, nodes_);
    if (nodes_.empty()) return {MoveParts::kNone, 0, 0};
    NodeId v = nodes_[draw(nodes_.size())];
    for (std::uint64_t steps = 1 + draw(kMostSteps); steps > 0 && graph_.in_degree(v) > 0; --steps) {
      const std::uint64_t edge = draw(static_cast<std::uint64_t>(graph_.in_degree(v)));
      v = graph_.source(graph_.in_begin(v) + static_cast<EdgeId>(edge));
    }
    return {parts_.unit(v), result_.device[v], 0};
  }

  /// Parts that hold something at the peak of an overfull device of the result, which was judged last.
  std::vector<MoveCandidate> overfull_holders() {
    std::vector<Nanoseconds> at(static_cast<std::size_t>(judge_.costs().num_devices()), -1);
    for (DeviceId d = 0; d < judge_.costs().num_devices(); ++d) {
      if (judge_.peaks().peak[d] > judge_.usable(d)) at[d] = judge_.peaks().peak_time[d];
    }
    return move_candidates(judge_, parts_, result_.device, at, Claim::together);
  }

  std::uint64_t draw(std::uint64_t below) { return random_below(random_bits(1, kStage, draws_++), below); }

  std::vector<DeviceId> moved(std::vector<DeviceId> device, const std::vector<Move>& moves) {
    for (const Move& move : moves) {
      parts_.nodes_on(move.part, device, move.from, nodes_);
      for (const NodeId v : nodes_) device[v] = move.to;
    }
    return device;
  }

  bool keep_if_better(const std::vector<Move>& moves) {
    return keep_if_better(moved(result_.device, moves), static_cast<std::int64_t>(moves.size()));
  }

  bool keep_if_better(const std::vector<DeviceId>& device, std::int64_t moves) {
    const Score judged = score(device);
    if (!(judged < result_.score)) return false;
    result_.device = device;
    result_.score = judged;
    result_.moved_units += moves;
    return true;
  }

  Judge& judge_;
  const Graph& graph_;
  const RepairOptions& options_;
  MoveParts parts_;
  FrozenRun frozen_;
  Refused refused_;
  std::int64_t run_visits_, visits_left_;
  Bytes last_overflow_ = 0;
  std::uint64_t draws_ = 0;
  Repaired result_;
  std::vector<NodeId> nodes_;
};

}  // namespace

Repaired repair_overflow(Judge& judge, std::vector<DeviceId> device, std::vector<std::int64_t> priority,
                         const RepairOptions& options) {
  return Repair(judge, std::move(device), std::move(priority), options).run();
}

}  // namespace pardnn
