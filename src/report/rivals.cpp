#include "report/rivals.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "baselines/baselines.hpp"
#include "memory/evaluate.hpp"

namespace pardnn {

namespace {

constexpr std::array<std::string_view, 3> kCheap{"single", "rr", "blocks"};
constexpr std::array<std::string_view, 2> kSchedulers{"heft", "etf"};

template <std::size_t N>
bool holds(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Rival judge(const CostModel& costs, const Baseline& baseline, Policy policy) {
  const Constructed made = baseline.run(costs);
  Emulator emulator(costs);
  MemoryTracker tracker(costs);
  const Schedule& run = emulator.run(made.device, policy, made.priority);
  const MemoryPeaks& peaks = tracker.track(made.device, run, emulator.delivered());
  Rival rival{std::string(baseline.name), std::string(baseline.what), run.makespan, 0, broken_rules(costs.graph(), made.device).empty()};
  for (DeviceId d = 0; d < costs.num_devices(); ++d) {
    const Bytes peak = peaks.peak[static_cast<std::size_t>(d)];
    rival.peak = std::max(rival.peak, peak);
    rival.feasible = rival.feasible && peak <= costs.machine().usable(d);
  }
  return rival;
}

}  // namespace

Rivals find_rivals(const CostModel& costs, Policy policy, std::int64_t limit) {
  Rivals rivals;
  const std::int64_t size = costs.graph().num_nodes() + costs.graph().num_edges();
  const bool is_large = size > limit / costs.num_devices();
  for (const Baseline& baseline : all_baselines()) {
    const bool is_scheduler = holds(kSchedulers, baseline.name);
    if (!is_scheduler && !holds(kCheap, baseline.name)) continue;
    if (is_scheduler && is_large) {
      rivals.skipped.emplace_back(baseline.name);
    } else {
      rivals.known.push_back(judge(costs, baseline, policy));
    }
  }
  return rivals;
}

}  // namespace pardnn
