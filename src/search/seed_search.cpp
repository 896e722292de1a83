#include "search/seed_search.hpp"

#include <algorithm>
#include <utility>

#include "memory/capacity_bound.hpp"
#include "search/anneal.hpp"
#include "search/chain_descent.hpp"
#include "search/exhaustive.hpp"
#include "search/insistence.hpp"
#include "search/key_anneal.hpp"
#include "search/order_starts.hpp"
#include "search/pool.hpp"
#include "search/pool_repair.hpp"
#include "search/starts.hpp"

namespace pardnn {
namespace {

/// Work that a preset may spend on improving placements, in visits of a node or edge by a whole emulation (about 20 ns each).
std::int64_t visit_budget(Preset preset) {
  switch (preset) {
    case Preset::fast: return 0;
    case Preset::standard: return 60'000'000;
    case Preset::strong: return 1'500'000'000;
  }
  return 0;
}

/// A visit of the chain descent (a started node, with its set-up) costs about three of a whole emulation.
constexpr std::int64_t kDescentVisit = 3;
/// A list that is decoded, emulated and thrown away costs about six of them.
constexpr std::int64_t kDecodeVisit = 6;
/// Graphs up to this size are annealed, too: their emulation takes well below a millisecond.
constexpr std::int64_t kAnnealedVisits = 20'000;

std::int64_t visits_of_a_run(const Graph& graph) { return graph.num_nodes() + graph.num_edges() + 32; }

std::size_t pool_size(Preset preset) { return preset == Preset::fast ? 1 : preset == Preset::standard ? 3 : 6; }

/// Tiny graphs: every placement there is, if that costs no more than a search.
bool try_everything(Pool& pool, const SeedSearchOptions& options) {
  const std::int64_t budget = std::max<std::int64_t>(visit_budget(options.preset), 2'000'000);
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

bool is_finished(const Pool& pool, const SeedSearchOptions& options) {
  return (pool.best().score.feasible() && pool.best().score.makespan <= options.lower_bound) ||
         (options.should_stop && options.should_stop());
}

/// Work that further starts and their repairs may cost while nothing fits, in the same visits.
std::int64_t insist_budget(Preset preset) { return preset == Preset::strong ? 4'000'000'000 : 800'000'000; }

void descend(Pool& pool, const Candidate& start, std::int64_t visits, const SeedSearchOptions& options) {
  DescentOptions descent;
  descent.visits = visits / kDescentVisit;
  descent.seed = options.seed;
  descent.good_enough = options.lower_bound;
  descent.should_stop = options.should_stop;
  Candidate better = descend_chain(pool.judge(), start, descent);
  if (better.score < start.score) better.origin += ", chain descent";
  pool.keep(std::move(better));
}

/// Heat that lets a placement that does not fit leave its shape, in millionths of the makespan.
constexpr std::int64_t kHot = 500'000;
/// A candidate is worth so many runs for each unit, no more.
constexpr std::int64_t kMostRunsPerUnit = 5'000;

void anneal(Pool& pool, const Candidate& start, std::int64_t visits, std::uint64_t index, const SeedSearchOptions& options) {
  const Graph& graph = pool.judge().costs().graph();
  AnnealOptions annealing;
  annealing.runs = std::min(visits / visits_of_a_run(graph), kMostRunsPerUnit * graph.num_units());
  annealing.seed = options.seed * 1000 + index;
  annealing.good_enough = options.lower_bound;
  annealing.should_stop = options.should_stop;
  Candidate better = start;
  if (!start.score.feasible() && annealing.runs >= 100 * graph.num_units()) {
    // Nothing fits yet: half of the runs hot enough to cross from one shape to another.
    annealing.runs /= 2;
    annealing.start_millionths = kHot;
    better = pardnn::anneal(pool.judge(), std::move(better), annealing);
    annealing.start_millionths = AnnealOptions{}.start_millionths;
  }
  better = pardnn::anneal(pool.judge(), std::move(better), annealing);
  if (better.score < start.score) better.origin += ", annealed";
  pool.keep(std::move(better));
}

/// Lists for a scheduler, annealed: the methods that make the most of a list under each policy.
void anneal_lists(Pool& pool, std::int64_t visits, const SeedSearchOptions& options) {
  const Judge& judge = pool.judge();
  std::vector<ListMethod> methods{judge.policy() == Policy::priority ? ListMethod::etf : ListMethod::eil};
  if (options.preset == Preset::strong) methods = {ListMethod::etf, ListMethod::heft, ListMethod::eil};
  for (const ListMethod method : methods) {
    KeyAnnealOptions annealing;
    annealing.decoder.method = method;
    annealing.decoder.lazy_sources = true;
    annealing.decoder.ports = judge.costs().machine().links == Links::ports;
    if (judge.policy() == Policy::priority) annealing.decoder.dispatch = Dispatch::bottom_level;
    const Graph& graph = judge.costs().graph();
    annealing.runs = std::min(visits / static_cast<std::int64_t>(methods.size()) / visits_of_a_run(graph) / kDecodeVisit,
                              kMostRunsPerUnit * graph.num_units());
    annealing.seed = options.seed;
    annealing.good_enough = options.lower_bound;
    annealing.should_stop = options.should_stop;
    pool.keep(anneal_keys(pool.judge(), annealing));
    if (is_finished(pool, options)) return;
  }
}

/// Descents from all of the pool, then annealing (small graphs) and further descent from the best.
void improve_pool(Pool& pool, const SeedSearchOptions& options, StageClock::Stage& stage) {
  const std::int64_t budget = visit_budget(options.preset);
  const bool small = visits_of_a_run(pool.judge().costs().graph()) <= kAnnealedVisits;
  const std::vector<Candidate> starts = pool.candidates();
  const std::int64_t each = budget / (small ? 4 : 2) / static_cast<std::int64_t>(starts.size());
  std::int64_t done = 0;
  for (const Candidate& start : starts) {
    descend(pool, start, each, options);
    stage.reach(++done);
    if (is_finished(pool, options)) return;
  }
  if (small) {
    anneal_lists(pool, budget / 4, options);
    if (is_finished(pool, options)) return;
    anneal(pool, Candidate(pool.best()), budget / 4, 1, options);
    if (is_finished(pool, options)) return;
  }
  descend(pool, Candidate(pool.best()), budget / (small ? 4 : 2), options);
}

}  // namespace

Candidate search_seed(Judge& judge, const SeedSearchOptions& options, StageClock& clock) {
  Pool pool(judge, pool_size(options.preset));
  pool.tell_best(options.on_best);
  const auto stopped = [&] { return options.should_stop && options.should_stop(); };
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
    if (!pool.best().score.feasible() && judge.policy() == Policy::priority && !stopped()) replay_fifo(pool, options);
  }
  if (!pool.best().score.feasible() && !complete && options.preset != Preset::fast && !stopped()) {
    if (proof_that_nothing_fits(judge.costs().graph(), judge.costs().machine())) return pool.best();
    auto stage = clock.stage("more starts");
    insist_on_a_fit(pool, options.seed, insist_budget(options.preset), options.should_stop);
  }
  if (options.preset == Preset::fast || stopped()) return pool.best();
  auto stage = clock.stage("improvement", static_cast<std::int64_t>(pool.candidates().size()));
  improve_pool(pool, options, stage);
  return pool.best();
}

}  // namespace pardnn
