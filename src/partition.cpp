#include "pardnn/partition.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "bounds/makespan_bound.hpp"
#include "costs/cost_model.hpp"
#include "judge/judge.hpp"
#include "levels/weighted_levels.hpp"
#include "memory/capacity_bound.hpp"
#include "memory/evaluate.hpp"
#include "parallel/stage_timer.hpp"
#include "parallel/threads.hpp"
#include "pardnn/error.hpp"
#include "partition_on.hpp"
#include "seeds/seed_team.hpp"

namespace pardnn {
namespace {

/// Least equal per-device capacity whose usable part holds `peak`.
Bytes capacity_for(Bytes peak, Millionths headroom) { return ceil_mul_div(peak, kOne, kOne - headroom); }

void require_legal_start(const Graph& graph, const Placement& start) {
  const std::vector<std::string> broken = broken_rules(graph, start.device);
  if (!broken.empty()) throw InputError("the placement to start from breaks the graph's " + broken.front() + " rule");
}

/// Judges the winner once more from scratch: what is printed is what a fresh emulation says.
void verify(const CostModel& costs, const Options& options, const MakespanBounds& bounds, Result& result) {
  Emulator emulator(costs);
  MemoryTracker tracker(costs);
  Placement& placement = result.placement;
  if (options.policy == Policy::priority && placement.priority.empty()) {
    placement.priority = placed_bottom_levels(costs, placement.device);
  }
  result.schedule = emulator.run(placement.device, options.policy, placement.priority);
  const MemoryPeaks& peaks = tracker.track(placement.device, result.schedule, emulator.delivered());
  result.evaluation = describe_run(costs, placement.device, result.schedule, peaks, bounds);
  result.capacity_needed = capacity_for(result.evaluation.greatest_peak(), costs.machine().headroom);
}

void find_capacity_bound(const Graph& graph, const Machine& machine, Preset preset, Result& result) {
  CapacityVerdict verdict = capacity_verdict(graph, machine, preset == Preset::fast ? kCapacityVisits / 10 : kCapacityVisits);
  result.capacity_bound = verdict.bound.per_device_equal;
  result.cannot_fit = verdict.proof.has_value();
  if (verdict.proof) result.proof = std::move(*verdict.proof);
}

SeedTeamOptions seed_options(const Options& options, Nanoseconds bound) {
  SeedTeamOptions seeds;
  seeds.search.preset = options.preset;
  seeds.search.lower_bound = bound;
  seeds.search.start = options.start ? &*options.start : nullptr;
  seeds.first_seed = options.seed;
  seeds.seeds = std::max(options.seeds, 1);
  seeds.should_stop = options.should_stop;
  seeds.progress = options.progress;
  return seeds;
}

/// Makes `seeded` the result, judged afresh.
void take(Seeded seeded, const CostModel& costs, const Options& options, const MakespanBounds& bounds, Result& result) {
  result.placement.device = std::move(seeded.candidate.device);
  result.placement.priority = std::move(seeded.candidate.priority);
  result.method = std::move(seeded.candidate.origin);
  result.best_seed = options.seed + static_cast<std::uint64_t>(seeded.index);
  verify(costs, options, bounds, result);
}

}  // namespace

Result partition(const Graph& graph, const Machine& machine, const Options& options) {
  OneRank alone;
  return partition_on(alone, graph, machine, options, {}).result;
}

RanksResult partition_on(Ranks& ranks, const Graph& graph, const Machine& machine, const Options& options, RanksHooks hooks) {
  RanksResult all;
  Result& result = all.result;
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
  const MakespanBounds bounds = [&] {
    auto stage = clock.stage("bounds");
    if (options.preset != Preset::fast) return makespan_bounds(costs);
    const Nanoseconds plain = lower_bound(graph, machine);
    return MakespanBounds{plain, plain};
  }();
  auto judge = std::make_unique<Judge>(costs, options.policy);
  if (judge->memory_matters() && ranks.is_first()) {
    auto stage = clock.stage("capacity bound");
    find_capacity_bound(graph, machine, options.preset, result);
  }
  if (const auto& before = hooks.seeds.before.best) {
    if (!(judge->score(before->candidate.device, before->candidate.priority) == before->candidate.score)) {
      throw InputError("the checkpoint's placement is not what the checkpoint says of it: it is damaged, or of another version of pardnn");
    }
  }
  if (hooks.write_result && ranks.is_first()) {
    hooks.seeds.write_result = [&](const Seeded& best) {
      Result so_far = result;
      take(best, costs, options, bounds, so_far);
      hooks.write_result(so_far);
    };
  }
  SeedRun run = explore_seeds(*judge, seed_options(options, bounds.best), std::move(hooks.seeds), ranks, result.stages);
  judge.reset();  // the verification needs as much memory again
  all.caught = run.caught;
  all.seeds = std::move(run.state);
  if (!ranks.is_first()) return all;
  auto stage = clock.stage("verification");
  take(std::move(run.best), costs, options, bounds, result);
  return all;
}

}  // namespace pardnn
