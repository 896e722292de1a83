#include "pardnn/partition.hpp"

#include <algorithm>
#include <utility>

#include "costs/cost_model.hpp"
#include "judge/judge.hpp"
#include "levels/weighted_levels.hpp"
#include "memory/capacity_bound.hpp"
#include "memory/evaluate.hpp"
#include "parallel/stage_timer.hpp"
#include "parallel/threads.hpp"
#include "pardnn/error.hpp"
#include "search/seed_search.hpp"

namespace pardnn {
namespace {

/// Least equal per-device capacity whose usable part holds `peak`.
Bytes capacity_for(Bytes peak, Millionths headroom) { return ceil_mul_div(peak, kOne, kOne - headroom); }

void require_legal_start(const Graph& graph, const Placement& start) {
  const std::vector<std::string> broken = broken_rules(graph, start.device);
  if (!broken.empty()) throw InputError("the placement to start from breaks the graph's " + broken.front() + " rule");
}

/// Judges the winner once more from scratch: what is printed is what a fresh emulation says.
void verify(const CostModel& costs, const Options& options, Nanoseconds bound, Result& result) {
  Emulator emulator(costs);
  MemoryTracker tracker(costs);
  Placement& placement = result.placement;
  if (options.policy == Policy::priority && placement.priority.empty()) {
    placement.priority = placed_bottom_levels(costs, placement.device);
  }
  result.schedule = emulator.run(placement.device, options.policy, placement.priority);
  const MemoryPeaks& peaks = tracker.track(placement.device, result.schedule, emulator.delivered());
  result.evaluation = describe_run(costs, placement.device, result.schedule, peaks, bound);
  result.capacity_needed = capacity_for(result.evaluation.greatest_peak(), costs.machine().headroom);
}

void find_capacity_bound(const Graph& graph, const Machine& machine, Preset preset, Result& result) {
  CapacityVerdict verdict = capacity_verdict(graph, machine, preset == Preset::fast ? kCapacityVisits / 10 : kCapacityVisits);
  result.capacity_bound = verdict.bound.per_device_equal;
  result.cannot_fit = verdict.proof.has_value();
  if (verdict.proof) result.proof = std::move(*verdict.proof);
}

Candidate search_all_seeds(Judge& judge, const Options& options, Nanoseconds bound, StageClock& clock) {
  Candidate best;
  bool first = true;
  for (int i = 0; i < std::max(options.seeds, 1); ++i) {
    SeedSearchOptions seed;
    seed.preset = options.preset;
    seed.seed = options.seed + static_cast<std::uint64_t>(i);
    seed.lower_bound = bound;
    seed.start = options.start ? &*options.start : nullptr;
    seed.should_stop = options.should_stop;
    Candidate candidate = search_seed(judge, seed, clock);
    if (first || candidate.score < best.score) best = std::move(candidate);
    first = false;
    if (best.score.feasible() && best.score.makespan <= bound) break;
    if (options.should_stop && options.should_stop()) break;
  }
  return best;
}

}  // namespace

Result partition(const Graph& graph, const Machine& machine, const Options& options) {
  Result result;
  StageClock clock(options.progress, result.stages);
  const ThreadPlan plan = plan_threads(options.threads);
  const ThreadScope threads(plan.threads);
  if (!plan.warning.empty()) result.warnings.push_back(plan.warning);
  require_pinned_devices(graph, machine);
  const CostModel costs = [&] {
    auto stage = clock.stage("costs");
    return CostModel(graph, machine);
  }();
  if (options.start) require_legal_start(graph, *options.start);
  const Nanoseconds bound = lower_bound(graph, machine);
  Judge judge(costs, options.policy);
  if (judge.memory_matters()) {
    auto stage = clock.stage("capacity bound");
    find_capacity_bound(graph, machine, options.preset, result);
  }
  Candidate best = search_all_seeds(judge, options, bound, clock);
  result.placement.device = std::move(best.device);
  result.placement.priority = std::move(best.priority);
  result.method = std::move(best.origin);
  auto stage = clock.stage("verification");
  verify(costs, options, bound, result);
  return result;
}

}  // namespace pardnn
