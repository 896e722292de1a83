#include "search/key_anneal.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "construct/list_scheduler.hpp"
#include "levels/weighted_levels.hpp"
#include "search/cooling.hpp"

namespace pardnn {
namespace {

constexpr std::uint64_t kStage = 0x6b657973;  // "keys"

class KeyAnnealer {
 public:
  KeyAnnealer(Judge& judge, const KeyAnnealOptions& options)
      : judge_(judge), graph_(judge.costs().graph()), options_(options), random_(options.seed, kStage),
        keys_(weighted_levels(judge.costs()).bottom) {}

  Candidate run() {
    best_ = decode();
    if (graph_.num_nodes() < 2) return std::move(best_);
    current_ = best_.score;
    const std::int64_t steps = 200;
    Cooling cooling(options_.start_millionths, options_.end_millionths, steps, std::max<Nanoseconds>(current_.makespan, 1));
    for (std::int64_t step = 0; step < steps; ++step, cooling.step()) {
      if (is_done()) break;
      for (std::int64_t i = options_.runs * step / steps; i < options_.runs * (step + 1) / steps; ++i) try_move(cooling);
    }
    return std::move(best_);
  }

 private:
  bool is_done() const {
    return (best_.score.feasible() && best_.score.makespan <= options_.good_enough) ||
           (options_.should_stop && options_.should_stop());
  }

  Candidate decode() {
    ListOptions decoder = options_.decoder;
    decoder.bottom_levels = keys_;
    Constructed constructed = construct_list(judge_.costs(), decoder);
    Candidate candidate;
    candidate.device = std::move(constructed.device);
    if (judge_.policy() == Policy::priority) candidate.priority = std::move(constructed.priority);
    candidate.score = judge_.score(candidate.device, candidate.priority);
    candidate.origin = "list annealed";
    return candidate;
  }

  /// One node takes a place near another's, or two change places.
  void try_move(const Cooling& cooling) {
    const NodeId a = random_.below(graph_.num_nodes()), b = random_.below(graph_.num_nodes());
    const Nanoseconds key_a = keys_[a], key_b = keys_[b];
    if (random_.chance(50)) {
      std::swap(keys_[a], keys_[b]);
    } else {
      keys_[a] = key_b + (random_.chance(50) ? 1 : -1);
    }
    const Nanoseconds threshold = current_.makespan + cooling.slack(random_);
    Candidate candidate = decode();
    const bool accepted = candidate.score.overflow <= current_.overflow && candidate.score.makespan <= threshold;
    if (candidate.score < best_.score) best_ = candidate;
    if (accepted) {
      current_ = candidate.score;
    } else {
      keys_[a] = key_a;
      keys_[b] = key_b;
    }
  }

  Judge& judge_;
  const Graph& graph_;
  const KeyAnnealOptions& options_;
  RandomStream random_;
  std::vector<Nanoseconds> keys_;
  Candidate best_;
  Score current_;
};

}  // namespace

Candidate anneal_keys(Judge& judge, const KeyAnnealOptions& options) { return KeyAnnealer(judge, options).run(); }

}  // namespace pardnn
