#include "search/seed_search.hpp"

#include <algorithm>
#include <utility>

#include "memory/capacity_bound.hpp"
#include "search/exhaustive.hpp"
#include "search/improvement.hpp"
#include "search/insistence.hpp"
#include "search/order_starts.hpp"
#include "search/pool.hpp"
#include "search/pool_repair.hpp"
#include "search/starts.hpp"

namespace pardnn {
namespace {

std::int64_t visits_of_a_run(const Graph& graph) { return graph.num_nodes() + graph.num_edges() + 32; }

std::size_t pool_size(Preset preset) { return preset == Preset::fast ? 1 : preset == Preset::standard ? 3 : 6; }

/// Tiny graphs: every placement there is, if that costs no more than a search.
bool try_everything(Pool& pool, const SeedSearchOptions& options) {
  const std::int64_t budget = options.preset == Preset::fast ? 2'000'000 : options.preset == Preset::standard ? 60'000'000 : 1'500'000'000;
  const CostModel& costs = pool.judge().costs();
  if (!count_placements(costs, budget / visits_of_a_run(costs.graph()))) return false;
  pool.keep(best_of_all(pool.judge()));
  return true;
}

/// Work that repairs may cost in all, in the same visits.
std::int64_t repair_budget(Preset preset) {
  switch (preset) {
    case Preset::fast: return 5'000'000;
    case Preset::standard: return 40'000'000;
    case Preset::strong: return 1'000'000'000;
  }
  return 0;
}

/// Nothing fits in any order tried so far: what fits under fifo, in fifo's order.
void replay_fifo(Pool& pool, const SeedSearchOptions& options) {
  Judge judge(pool.judge().costs(), Policy::fifo);
  Pool fifo(judge, pool_size(options.preset));
  add_starts(fifo, {options.preset, options.seed, options.should_stop, {}});
  if (!fifo.best().score.feasible()) repair_overfull(fifo, repair_budget(options.preset), options.should_stop);
  add_replayed(pool, fifo);
}

/// Work that further starts and their repairs may cost while nothing fits, in the same visits.
std::int64_t insist_budget(Preset preset) { return preset == Preset::strong ? 4'000'000'000 : 800'000'000; }

bool is_shortest(const Candidate& candidate, const SeedSearchOptions& options) {
  return candidate.score.feasible() && candidate.score.makespan <= options.lower_bound;
}

}  // namespace

Candidate search_seed(Judge& judge, const SeedSearchOptions& options, StageClock& clock) {
  Pool pool(judge, pool_size(options.preset));
  const auto stopped = [&] { return options.should_stop && options.should_stop(); };
  if (options.preset == Preset::strong) {
    // First what default finds: so strong is never behind it, and has something to show early.
    SeedSearchOptions quick = options;
    quick.preset = Preset::standard;
    pool.keep(search_seed(judge, quick, clock));
    if (stopped() || is_shortest(pool.best(), options)) return pool.best();
  }
  pool.tell_best(options.on_best);
  {
    StartContext context{options.preset, options.seed, options.should_stop, {}};
    auto stage = clock.stage("starts", count_starts(judge.costs(), context));
    context.progress = [&stage](std::int64_t done) { stage.reach(done); };
    if (options.start != nullptr) {
      Candidate given;
      given.device = options.start->device;
      if (judge.policy() == Policy::priority) given.priority = options.start->priority;
      given.score = judge.score(given.device, given.priority);
      given.origin = "given start";
      pool.keep(std::move(given));
    }
    add_starts(pool, context);
  }
  if (stopped()) return pool.best();
  const bool fits = pool.best().score.feasible();
  if (judge.policy() == Policy::priority && pool.is_tight() && !(fits && options.preset == Preset::fast)) {
    auto stage = clock.stage("orders");
    add_order_starts(pool, {options.preset, options.should_stop});
  }
  if (stopped()) return pool.best();
  const bool complete = try_everything(pool, options);
  if (complete && judge.policy() == Policy::fifo) return pool.best();
  if (pool.has_overfull()) {
    auto stage = clock.stage("repair");
    repair_overfull(pool, repair_budget(options.preset), options.should_stop);
    if (tries_baselines(judge.costs().graph(), options.preset) && !stopped()) add_repaired_step_one(pool, options.should_stop);
    if (!pool.best().score.feasible() && judge.policy() == Policy::priority && !stopped()) replay_fifo(pool, options);
  }
  if (!pool.best().score.feasible() && !complete && options.preset != Preset::fast && !stopped()) {
    if (proof_that_nothing_fits(judge.costs().graph(), judge.costs().machine())) return pool.best();
    auto stage = clock.stage("more starts");
    insist_on_a_fit(pool, options.seed, insist_budget(options.preset), options.should_stop);
  }
  if (options.preset == Preset::fast || stopped()) return pool.best();
  improve_pool(pool, {options.preset, options.seed, options.lower_bound, options.should_stop}, clock);
  return pool.best();
}

}  // namespace pardnn
