#include "search/starts.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "baselines/baselines.hpp"
#include "construct/affinity.hpp"
#include "construct/list_scheduler.hpp"
#include "refinement/step_one.hpp"
#include "search/list_variants.hpp"
#include "search/memory_starts.hpp"
#include "search/replica_starts.hpp"

namespace pardnn {
namespace {

constexpr std::string_view kTrivial[] = {"single", "rr", "blocks", "blocks-id"};
/// Baselines that cost no more than one of our constructors: no result of a search loses to them. Those that are built only
/// where a library is found are left out, so that results do not depend on it.
constexpr std::string_view kCheap[] = {"heft", "etf", "heft-lazy", "etf-lazy", "eil", "m-topo", "m-etf", "m-sct"};
/// Up to this size (nodes and edges) the presets that search try them.
constexpr std::int64_t kCheapBaselines = 400'000;

/// Variants that are fed back on graphs of up to that size, however little may be spent.
constexpr std::size_t kFedBack = 4;

int feedback_rounds(Preset preset) {
  switch (preset) {
    case Preset::fast: return 0;
    case Preset::standard: return 2;
    case Preset::strong: return 3;
  }
  return 0;
}

/// Runs of one variant with budgets, at most.
int budget_runs(Preset preset) {
  switch (preset) {
    case Preset::fast: return 3;
    case Preset::standard: return 5;
    case Preset::strong: return 9;
  }
  return 0;
}

void add_step_one(Pool& pool, const StartContext& context, bool initial_merge) {
  const CostModel& costs = pool.judge().costs();
  StepOneOptions options;
  options.initial_merge = initial_merge;
  if (context.seed > 1) {
    options.jitter = 100'000;
    options.jitter_seed = context.seed;
  }
  const std::string name = initial_merge ? "ParDNN" : "ParDNN without initial merge";
  // Every intermediate result is judged; a refinement that the emulated run does not confirm is dropped.
  bool refined = false;
  Score last;
  options.confirm = [&](std::span<const DeviceId> device) {
    Candidate candidate;
    candidate.score = pool.judge().score(device);
    candidate.device.assign(device.begin(), device.end());
    candidate.origin = refined ? name + ", refined" : name;
    const bool confirmed = !refined || candidate.score < last;
    if (confirmed) last = candidate.score;
    refined = true;
    pool.keep(std::move(candidate));
    return confirmed;
  };
  paper_step_one(costs, options);
}

/// Parameters with their users, spread in four ways; the rest along, or placed by EIL around them.
void add_affinity(Pool& pool, const StartContext& context) {
  const CostModel& costs = pool.judge().costs();
  const Graph& graph = costs.graph();
  const AffinityGroups groups = affinity_groups(costs);
  for (const auto& [spread, name] : {std::pair{AffinitySpread::heaviest_first, "affinity groups, heaviest first"},
                                     std::pair{AffinitySpread::cyclic, "affinity groups, cyclic"},
                                     std::pair{AffinitySpread::blocks, "affinity groups, blocks"},
                                     std::pair{AffinitySpread::blocks_memory, "affinity groups, blocks of memory"}}) {
    Constructed constructed = affinity_start(costs, groups, spread);
    if (spread == AffinitySpread::heaviest_first || spread == AffinitySpread::blocks_memory) {
      std::vector<DeviceId> given(constructed.device.size(), kNoDevice);
      for (NodeId v = 0; v < graph.num_nodes(); ++v) {
        if (graph.is_residual(graph.root(v))) given[v] = constructed.device[v];
      }
      ListOptions around;
      around.lazy_sources = true;
      around.reserve = kOne;
      around.ports = costs.machine().links == Links::ports;
      around.given = given;
      const std::string origin = std::string(name) + ", eil around";
      pool.add(construct_list(costs, around), origin);
      if (pool.is_tight()) add_budgeted(pool, around, origin, 3, context.should_stop);
    }
    pool.add(std::move(constructed), name);
    if (context.should_stop && context.should_stop()) return;
  }
}

bool is_start(std::string_view baseline, const Graph& graph, Preset preset) {
  const auto among = [&](const auto& names) { return std::find(std::begin(names), std::end(names), baseline) != std::end(names); };
  if (among(kTrivial)) return true;
  return preset != Preset::fast && graph.num_nodes() + graph.num_edges() <= kCheapBaselines && among(kCheap);
}

void add_baselines(Pool& pool, const StartContext& context) {
  const CostModel& costs = pool.judge().costs();
  for (const Baseline& baseline : all_baselines()) {
    if (!is_start(baseline.name, costs.graph(), context.preset)) continue;
    pool.add(baseline.run(costs), std::string(baseline.name));
    if (context.should_stop && context.should_stop()) return;
  }
}

void add_variant(Pool& pool, ListOptions options, int rounds) {
  const CostModel& costs = pool.judge().costs();
  const std::string name = variant_name(options);
  if (rounds == 0) {
    pool.add(construct_list(costs, options), name);
    return;
  }
  int round = 0;
  for (Constructed& constructed : construct_with_feedback(costs, options, rounds)) {
    pool.add(std::move(constructed), round == 0 ? name : name + ", feedback " + std::to_string(round));
    ++round;
  }
}

/// Node and edge visits that a preset's constructors may take in all; at least the first variants always run.
std::int64_t constructor_budget(Preset preset) {
  return preset == Preset::strong ? 400'000'000 : 1'600'000;
}

/// How many variants a graph of this size gets, how many rounds of feedback, and how many runs with budgets where memory is tight.
struct Effort {
  std::size_t variants;
  int feedback;
  std::int64_t budgeted_runs;
};

Effort effort_for(const Graph& graph, const StartContext& context, std::size_t variants) {
  constexpr std::size_t kLeast = 10;
  constexpr std::int64_t kLeastBudgeted = 9, kMostBudgeted = 60;
  const std::int64_t runs = constructor_budget(context.preset) / (graph.num_nodes() + graph.num_edges() + 1);
  const int feedback = feedback_rounds(context.preset);
  const std::int64_t budgeted_runs = std::clamp<std::int64_t>(runs / 2, kLeastBudgeted, context.preset == Preset::strong ? runs : kMostBudgeted);
  if (runs >= static_cast<std::int64_t>(variants) * (feedback + 1)) return {variants, feedback, budgeted_runs};
  return {std::min(variants, std::max(kLeast, static_cast<std::size_t>(runs))), 0, budgeted_runs};
}

/// Graphs with more nodes and edges than this get from `fast` what one list scheduler makes of them, and the trivial placements: on
/// real graphs of 10^6 nodes the rest takes several times as long and was never better.
constexpr std::int64_t kHuge = 1'500'000;

/// The first variant in one pass: what settling lazy sources and running again gains is nothing at this size.
void add_one_pass(Pool& pool, const StartContext& context) {
  ListOptions once = list_variants(pool.judge().costs(), context.preset, context.seed).front();
  once.settle_again = false;
  pool.add(construct_list(pool.judge().costs(), once), variant_name(once) + ", one pass");
}

}  // namespace

std::int64_t count_starts(const CostModel& costs, const StartContext& context) {
  const std::size_t variants = list_variants(costs, context.preset, context.seed).size();
  return 3 + static_cast<std::int64_t>(effort_for(costs.graph(), context, variants).variants);
}

void add_starts(Pool& pool, const StartContext& context) {
  const Graph& graph = pool.judge().costs().graph();
  const bool one_pass = context.preset == Preset::fast && graph.num_nodes() + graph.num_edges() > kHuge;
  if (one_pass) {
    add_one_pass(pool, context);
    add_baselines(pool, context);
    if (pool.best().score.feasible() || (context.should_stop && context.should_stop())) return;
  }
  if (pool.judge().policy() == Policy::priority && context.preset != Preset::fast) pool.try_fifo_orders();
  std::int64_t done = 0;
  const auto step = [&] {
    if (context.progress) context.progress(++done);
    return context.should_stop && context.should_stop();
  };
  const CostModel& costs = pool.judge().costs();
  if (!one_pass) add_baselines(pool, context);
  if (step()) return;
  add_step_one(pool, context, true);
  if (step()) return;
  if (context.preset != Preset::fast) {
    add_step_one(pool, context, false);
    add_affinity(pool, context);
    add_replica_starts(pool, context);
  }
  if (step()) return;
  std::vector<ListOptions> variants = list_variants(costs, context.preset, context.seed);
  Effort effort = effort_for(costs.graph(), context, variants.size());
  variants.resize(effort.variants);
  // The most promising ones are fed back once at least: decisive on some transformers.
  std::size_t promising = context.preset == Preset::fast || graph.num_nodes() + graph.num_edges() > kCheapBaselines ? 0 : kFedBack;
  for (const ListOptions& variant : variants) {
    add_variant(pool, variant, promising > 0 ? std::max(effort.feedback, 1) : effort.feedback);
    if (promising > 0) --promising;
    if (effort.budgeted_runs > 0 && pool.is_tight()) {
      effort.budgeted_runs -= add_budgeted(pool, variant, variant_name(variant), budget_runs(context.preset), context.should_stop);
    }
    if (step()) return;
  }
}

}  // namespace pardnn
