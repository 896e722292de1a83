#include "search/starts.hpp"

#include <algorithm>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "baselines/baselines.hpp"
#include "construct/affinity.hpp"
#include "construct/list_order.hpp"
#include "construct/list_scheduler.hpp"
#include "refinement/step_one.hpp"
#include "search/list_variants.hpp"
#include "search/memory_starts.hpp"
#include "search/replica_starts.hpp"
#include "search/start_list.hpp"

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

/// True if nothing was dropped or jittered: the last that was judged is the method as published.
bool add_step_one(StartSheet& sheet, std::uint64_t seed, bool initial_merge) {
  StepOneOptions options;
  options.initial_merge = initial_merge;
  if (seed > 1) {
    options.jitter = 100'000;
    options.jitter_seed = seed;
  }
  const std::string name = initial_merge ? "ParDNN" : "ParDNN without initial merge";
  // Every intermediate result is judged; a refinement that the emulated run does not confirm is dropped.
  bool refined = false, dropped = false;
  Score last;
  options.confirm = [&](std::span<const DeviceId> device) {
    Candidate candidate;
    candidate.score = sheet.judge().score(device);
    candidate.device.assign(device.begin(), device.end());
    candidate.origin = refined ? name + ", refined" : name;
    const bool confirmed = !refined || candidate.score < last;
    if (confirmed) last = candidate.score;
    dropped = dropped || !confirmed;
    refined = true;
    sheet.keep(std::move(candidate));
    return confirmed;
  };
  paper_step_one(sheet.judge().costs(), options);
  return initial_merge && seed <= 1 && !dropped;
}

/// EIL around the parameters of an affinity start.
ListOptions around(const CostModel& costs, std::span<const DeviceId> given) {
  ListOptions options;
  options.lazy_sources = true;
  options.reserve = kOne;
  options.ports = costs.machine().links == Links::ports;
  options.given = given;
  return options;
}

std::vector<DeviceId> parameters_of(const Graph& graph, const Constructed& constructed) {
  std::vector<DeviceId> given(constructed.device.size(), kNoDevice);
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    if (graph.is_residual(graph.root(v))) given[v] = constructed.device[v];
  }
  return given;
}

/// Parameters with their users, spread in four ways; the rest along, or placed by EIL around them.
void list_affinity(StartList& starts, Pool& pool, const StartContext& context) {
  const CostModel& costs = pool.judge().costs();
  const auto groups = std::make_shared<const AffinityGroups>(affinity_groups(costs));
  for (const auto& named : {std::pair{AffinitySpread::heaviest_first, "affinity groups, heaviest first"},
                            std::pair{AffinitySpread::cyclic, "affinity groups, cyclic"},
                            std::pair{AffinitySpread::blocks, "affinity groups, blocks"},
                            std::pair{AffinitySpread::blocks_memory, "affinity groups, blocks of memory"}}) {
    const AffinitySpread spread = named.first;
    const std::string name = named.second, origin = name + ", eil around";
    if (spread == AffinitySpread::heaviest_first || spread == AffinitySpread::blocks_memory) {
      starts.add(
          [&costs, groups, spread, origin](StartSheet& sheet) {
            const std::vector<DeviceId> given = parameters_of(costs.graph(), affinity_start(costs, *groups, spread));
            sheet.add(construct_list(costs, around(costs, given)), origin);
          },
          [&pool, &costs, &context, groups, spread, origin] {
            if (!pool.is_tight()) return;
            const std::vector<DeviceId> given = parameters_of(costs.graph(), affinity_start(costs, *groups, spread));
            add_budgeted(pool, around(costs, given), origin, 3, context.should_stop);
          });
    }
    starts.add([&costs, groups, spread, name](StartSheet& sheet) { sheet.add(affinity_start(costs, *groups, spread), name); });
  }
}

bool is_start(std::string_view baseline, const Graph& graph, Preset preset) {
  const auto among = [&](const auto& names) { return std::find(std::begin(names), std::end(names), baseline) != std::end(names); };
  if (among(kTrivial)) return true;
  return tries_baselines(graph, preset) && among(kCheap);
}

void list_baselines(StartList& starts, const CostModel& costs, Preset preset) {
  for (const Baseline& baseline : all_baselines()) {
    if (!is_start(baseline.name, costs.graph(), preset)) continue;
    starts.add([&costs, &baseline](StartSheet& sheet) { sheet.add(baseline.run(costs), std::string(baseline.name)); });
  }
}

void make_variant(StartSheet& sheet, const ListOptions& options, int rounds) {
  const CostModel& costs = sheet.judge().costs();
  const std::string name = variant_name(options);
  if (rounds == 0) return sheet.add(construct_list(costs, options), name);
  int round = 0;
  for (Constructed& constructed : construct_with_feedback(costs, options, rounds)) {
    sheet.add(std::move(constructed), round == 0 ? name : name + ", feedback " + std::to_string(round));
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
  once.plan_order = pool.judge().policy() == Policy::priority;
  pool.add(construct_list(pool.judge().costs(), once), variant_name(once) + ", one pass");
}

}  // namespace

bool tries_baselines(const Graph& graph, Preset preset) {
  return preset != Preset::fast && graph.num_nodes() + graph.num_edges() <= kCheapBaselines;
}

std::int64_t count_starts(const CostModel& costs, const StartContext& context) {
  const std::size_t variants = list_variants(costs, context.preset, context.seed).size();
  return 3 + static_cast<std::int64_t>(effort_for(costs.graph(), context, variants).variants);
}

void add_starts(Pool& pool, const StartContext& context) {
  const CostModel& costs = pool.judge().costs();
  const Graph& graph = costs.graph();
  StartList starts;
  list_baselines(starts, costs, context.preset);
  if (context.preset == Preset::fast && graph.num_nodes() + graph.num_edges() > kHuge) {
    add_one_pass(pool, context);
    starts.run(pool, {context.preset, context.seed, context.should_stop, {}});
    if (pool.best().score.feasible() || (context.should_stop && context.should_stop())) return;
    starts = {};
  } else {
    starts.end_step();
  }
  if (pool.judge().policy() == Policy::priority && context.preset != Preset::fast) pool.try_fifo_orders();
  starts.add([&context](StartSheet& sheet) {
    const bool as_published = add_step_one(sheet, context.seed, true);
    if (as_published || !tries_baselines(sheet.judge().costs().graph(), context.preset)) return;
    Constructed published;
    published.device = paper_step_one(sheet.judge().costs(), {});
    sheet.add(std::move(published), "ParDNN as published");
  });
  starts.end_step();
  if (context.preset != Preset::fast) {
    starts.add([&context](StartSheet& sheet) { add_step_one(sheet, context.seed, false); });
    list_affinity(starts, pool, context);
    list_replica_starts(starts, pool, context.preset);
  }
  starts.end_step();
  const ListOrder order = list_order(costs, {});
  std::vector<ListOptions> variants = list_variants(costs, context.preset, context.seed);
  for (ListOptions& variant : variants) {
    variant.order = &order;
    variant.plan_order = pool.judge().policy() == Policy::priority;
  }
  const Effort effort = effort_for(costs.graph(), context, variants.size());
  variants.resize(effort.variants);
  std::int64_t budgeted_runs = effort.budgeted_runs;
  // The most promising ones are fed back once at least: decisive on some transformers.
  std::size_t promising = context.preset == Preset::fast || graph.num_nodes() + graph.num_edges() > kCheapBaselines ? 0 : kFedBack;
  for (const ListOptions& variant : variants) {
    const int rounds = promising > 0 ? std::max(effort.feedback, 1) : effort.feedback;
    if (promising > 0) --promising;
    starts.add([&variant, rounds](StartSheet& sheet) { make_variant(sheet, variant, rounds); },
               [&pool, &context, &variant, &budgeted_runs] {
                 if (budgeted_runs <= 0 || !pool.is_tight()) return;
                 budgeted_runs -= add_budgeted(pool, variant, variant_name(variant), budget_runs(context.preset), context.should_stop);
               });
    starts.end_step();
  }
  starts.run(pool, context);
}

}  // namespace pardnn
