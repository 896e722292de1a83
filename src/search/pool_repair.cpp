#include "search/pool_repair.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "construct/affinity.hpp"
#include "refinement/step_one.hpp"
#include "repair/overflow_repair.hpp"

namespace pardnn {
namespace {

bool beats_best(const Pool& pool, const Candidate& candidate) {
  const Score& best = pool.best().score;
  return !best.feasible() || candidate.score.makespan < best.makespan;
}

/// Visits that it took.
std::int64_t repair_one(Pool& pool, const Candidate& candidate, const RepairOptions& options) {
  Repaired repaired = repair_overflow(pool.judge(), candidate.device, candidate.priority, options);
  Candidate better;
  better.device = std::move(repaired.device);
  better.priority = std::move(repaired.priority);
  better.score = repaired.score;
  better.origin = candidate.origin + ", repaired (" + std::to_string(repaired.moved_units) + " moves)";
  pool.keep(std::move(better));
  return repaired.visits;
}

}  // namespace

std::int64_t repair_overfull(Pool& pool, std::int64_t visits, const std::function<bool()>& should_stop, bool many_first) {
  const std::vector<Candidate> front = pool.take_overfull();
  if (front.empty()) return visits;
  const Graph& graph = pool.judge().costs().graph();
  const AffinityGroups groups = affinity_groups(pool.judge().costs());
  RepairOptions options;
  options.group_of_node = groups.of_node;
  options.should_stop = should_stop;
  options.many_first = many_first;
  const std::int64_t least_visits = options.least_runs * (2 * (graph.num_nodes() + graph.num_edges()) + 64);
  for (std::size_t i = 0; i < front.size(); ++i) {
    if (should_stop && should_stop()) break;
    if (!beats_best(pool, front[i])) continue;
    const bool must = i == 0 && !pool.best().score.feasible();
    if (!must && visits < least_visits) break;
    options.visits = std::max<std::int64_t>(visits, 0) * 2 / (static_cast<std::int64_t>(front.size() - i) + 1);
    visits -= repair_one(pool, front[i], options);
  }
  return visits;
}

void add_repaired_step_one(Pool& pool, const std::function<bool()>& should_stop) {
  Candidate published;
  published.device = paper_step_one(pool.judge().costs(), {});
  published.score = pool.judge().score(published.device);
  published.origin = "ParDNN as published";
  if (published.score.feasible() || !beats_best(pool, published)) return;
  RepairOptions options;
  options.should_stop = should_stop;
  repair_one(pool, published, options);
}

}  // namespace pardnn
