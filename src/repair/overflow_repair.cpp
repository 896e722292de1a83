#include "repair/overflow_repair.hpp"

#include <algorithm>
#include <utility>

#include "repair/frozen_run.hpp"
#include "repair/move_plan.hpp"
#include "repair/trial_moves.hpp"

namespace pardnn {
namespace {

/// Plans in a row of which not even the first move helped.
constexpr int kMostFailures = 12;
/// Trials that are emulated before the repair gives up.
constexpr std::size_t kMostTrials = 256;

class Repair {
 public:
  Repair(Judge& judge, std::vector<DeviceId> device, std::vector<std::int64_t> priority, const RepairOptions& options)
      : judge_(judge), graph_(judge.costs().graph()), options_(options), parts_(graph_, options.group_of_node),
        frozen_(judge.costs()), refused_(parts_.num_parts()), trial_visits_(options.trial_visits) {
    result_.device = std::move(device);
    result_.priority = std::move(priority);
  }

  Repaired run() {
    result_.score = judge_.score(result_.device, result_.priority);
    for (int round = 0; round < options_.rounds && !result_.score.feasible(); ++round) {
      if (is_stopped()) break;
      refused_.clear();
      if (!follow_a_plan() && !try_single_moves()) break;
    }
    return std::move(result_);
  }

 private:
  bool is_stopped() const { return options_.should_stop && options_.should_stop(); }

  /// True if a plan, or the beginning of one, helped. A first move that does not help is refused, so that the next plan tries others.
  bool follow_a_plan() {
    for (int failures = 0; failures < kMostFailures && !is_stopped(); ++failures) {
      if (failures > 0) judge_.score(result_.device, result_.priority);  // the run that a plan is made for
      frozen_.freeze(judge_, result_.device);
      std::vector<Move> moves = plan_moves(judge_, parts_, frozen_, refused_);
      if (moves.empty()) return false;
      const Move first = moves.front();
      for (; !moves.empty(); moves.resize(moves.size() / 2)) {
        if (keep_if_better(moves)) return true;
      }
      refused_.add(first.part);
    }
    return false;
  }

  /// True if a single move or a swap helped.
  bool try_single_moves() {
    const std::int64_t run_visits = 2 * (graph_.num_nodes() + graph_.num_edges()) + 64;
    if (trial_visits_ < 4 * run_visits) return false;
    refused_.clear();
    judge_.score(result_.device, result_.priority);
    frozen_.freeze(judge_, result_.device);
    const std::int64_t before = frozen_.visits();
    const std::vector<TrialMove> trials = trial_moves(judge_, parts_, frozen_, refused_, trial_visits_ / 4);
    trial_visits_ -= frozen_.visits() - before + 2 * run_visits;
    for (std::size_t i = 0; i < std::min(trials.size(), kMostTrials); ++i) {
      if (trial_visits_ < run_visits || is_stopped()) return false;
      trial_visits_ -= run_visits;
      std::vector<Move> moves{trials[i].move};
      if (trials[i].back.part != MoveParts::kNone) moves.push_back(trials[i].back);
      if (keep_if_better(moves)) return true;
    }
    return false;
  }

  bool keep_if_better(const std::vector<Move>& moves) {
    std::vector<DeviceId> device = result_.device;
    for (const Move& move : moves) {
      parts_.nodes_on(move.part, device, move.from, nodes_);
      for (const NodeId v : nodes_) device[v] = move.to;
    }
    const Score score = judge_.score(device, result_.priority);
    if (!(score < result_.score)) return false;
    result_.device = std::move(device);
    result_.score = score;
    result_.moved_units += static_cast<std::int64_t>(moves.size());
    return true;
  }

  Judge& judge_;
  const Graph& graph_;
  const RepairOptions& options_;
  MoveParts parts_;
  FrozenRun frozen_;
  Refused refused_;
  std::int64_t trial_visits_;
  Repaired result_;
  std::vector<NodeId> nodes_;
};

}  // namespace

Repaired repair_overflow(Judge& judge, std::vector<DeviceId> device, std::vector<std::int64_t> priority,
                         const RepairOptions& options) {
  return Repair(judge, std::move(device), std::move(priority), options).run();
}

}  // namespace pardnn
