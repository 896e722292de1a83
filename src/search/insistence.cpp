#include "search/insistence.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "construct/affinity.hpp"
#include "construct/list_scheduler.hpp"
#include "search/list_variants.hpp"
#include "search/memory_starts.hpp"
#include "search/pool_repair.hpp"

namespace pardnn {
namespace {

/// Variants of a round, and candidates of it that are repaired at most (twice the pool's size).
constexpr std::size_t kVariants = 12;
constexpr std::size_t kPool = 6;
/// Visits that a constructor's visit counts for.
constexpr std::int64_t kConstructorVisit = 7;
/// Budgets that each variant is run with, at most.
constexpr int kBudgets = 3;
/// Rounds at most.
constexpr std::uint64_t kRounds = 1000;

/// Repairs what `fresh` has with a quarter of what is left of `visits`; its best go to `pool`.
void repair_into(Pool& pool, Pool& fresh, std::int64_t& visits, const std::function<bool()>& should_stop) {
  const std::int64_t share = visits / 4;
  visits -= share - repair_overfull(fresh, share, should_stop, true);
  for (Candidate& candidate : fresh.candidates()) pool.keep(std::move(candidate));
}

/// The best so far once more, with more visits, and parameters with their users spread in all ways.
void repair_the_best(Pool& pool, std::int64_t& visits, const std::function<bool()>& should_stop) {
  const CostModel& costs = pool.judge().costs();
  Pool fresh(pool.judge(), kPool);
  for (const Candidate& candidate : pool.candidates()) fresh.keep(candidate);
  const AffinityGroups groups = affinity_groups(costs);
  for (const AffinitySpread spread : {AffinitySpread::heaviest_first, AffinitySpread::cyclic, AffinitySpread::blocks, AffinitySpread::blocks_memory}) {
    fresh.add(affinity_start(costs, groups, spread), "affinity groups");
  }
  repair_into(pool, fresh, visits, should_stop);
}

}  // namespace

void insist_on_a_fit(Pool& pool, std::uint64_t seed, std::int64_t visits, const std::function<bool()>& should_stop) {
  const CostModel& costs = pool.judge().costs();
  const std::int64_t run_visits = kConstructorVisit * (costs.graph().num_nodes() + costs.graph().num_edges() + 32);
  const auto stopped = [&] { return visits <= 0 || (should_stop && should_stop()); };
  if (!stopped()) repair_the_best(pool, visits, should_stop);
  for (std::uint64_t round = 0; round < kRounds && !pool.best().score.feasible() && !stopped(); ++round) {
    std::vector<ListOptions> variants = list_variants(costs, Preset::standard, round == 0 ? seed : seed * kRounds + round);
    if (round > 0) variants.resize(std::min(variants.size(), kVariants));
    for (std::size_t first = 0; first < variants.size() && !stopped(); first += kVariants) {
      Pool fresh(pool.judge(), kPool);
      for (std::size_t i = first; i < std::min(first + kVariants, variants.size()) && !stopped(); ++i) {
        fresh.add(construct_list(costs, variants[i]), variant_name(variants[i]));
        visits -= run_visits * (1 + add_budgeted(fresh, variants[i], variant_name(variants[i]), kBudgets, should_stop));
      }
      repair_into(pool, fresh, visits, should_stop);
    }
  }
}

}  // namespace pardnn
