#include "plan/planner.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "pardnn/error.hpp"
#include "pardnn/partition.hpp"

namespace pardnn {

namespace {

/// All splits are cheap enough to try up to this many devices.
constexpr DeviceId kAllSplits = 16;

/// A placement for one kind of slice.
struct Candidate {
  Placement placement;
  std::string method;
  bool cannot_fit = false;
};

Bytes total(const std::vector<Bytes>& bytes) { return std::accumulate(bytes.begin(), bytes.end(), Bytes{0}); }

std::vector<Candidate> candidates_for(const PlanInputs& inputs, const PlanOptions& options, const std::vector<Slice>& slices) {
  std::vector<Candidate> candidates;
  const std::vector<int> kinds = slice_kinds(inputs.machine, slices);
  for (std::size_t r = 0; r < slices.size(); ++r) {
    if (kinds[r] != static_cast<int>(r)) continue;
    Options chosen = options.partition;
    chosen.start.reset();
    Result result = partition(inputs.graph, sub_machine(inputs.machine, slices[r]), chosen);
    candidates.push_back({std::move(result.placement), std::move(result.method), result.cannot_fit});
  }
  return candidates;
}

PlanRow judge(const PlanInputs& inputs, const PlanOptions& options, std::vector<Slice> slices, const Candidate& candidate) {
  PlanRow row;
  row.replicas = static_cast<int>(slices.size());
  row.devices = static_cast<DeviceId>(slices.front().size());
  row.step = emulate_replicas(inputs.graph, inputs.gradients, inputs.machine, slices, candidate.placement, options.partition.policy, options.bucket_bytes);
  row.slices = std::move(slices);
  row.fits = total(row.step.overflow) == 0;
  row.method = candidate.method;
  return row;
}

/// The best of the candidates on the first `replicas` slices.
void judge_split(const PlanInputs& inputs, const PlanOptions& options, const std::vector<Slice>& slices, int replicas, const std::vector<Candidate>& candidates,
                 const std::function<void(PlanRow, const Placement&)>& visit) {
  std::optional<PlanRow> best;
  const Candidate* chosen = nullptr;
  for (const Candidate& candidate : candidates) {
    PlanRow row = judge(inputs, options, {slices.begin(), slices.begin() + replicas}, candidate);
    if (best && !is_better_plan(row, *best)) continue;
    best = std::move(row);
    chosen = &candidate;
  }
  best->distinct_slices = static_cast<int>(candidates.size());
  best->cannot_fit = std::all_of(candidates.begin(), candidates.end(), [](const Candidate& candidate) { return candidate.cannot_fit; });
  visit(std::move(*best), chosen->placement);
}

std::vector<DeviceId> splits_to_try(const PlanInputs& inputs, const PlanOptions& options) {
  std::vector<DeviceId> splits = options.devices_per_replica.empty() ? default_splits(inputs.machine) : options.devices_per_replica;
  const DeviceId pinned = inputs.graph.greatest_fixed();
  std::erase_if(splits, [&](DeviceId k) { return k <= pinned; });
  if (splits.empty()) throw InputError(fmt::format("/nodes/fixed: a node is pinned to device {}, so a replica needs {} devices or more", pinned, pinned + 1));
  return splits;
}

}  // namespace

double PlanRow::samples_per_second(std::int64_t samples_per_step) const {
  return step.time == 0 ? 0 : static_cast<double>(replicas) * static_cast<double>(samples_per_step) * 1e9 / static_cast<double>(step.time);
}

bool is_better_plan(const PlanRow& a, const PlanRow& b) {
  if (a.fits != b.fits) return a.fits;
  if (!a.fits && total(a.step.overflow) != total(b.step.overflow)) return total(a.step.overflow) < total(b.step.overflow);
  __extension__ using Wide = __int128;
  const Wide of_a = Wide(a.replicas) * Wide(b.step.time), of_b = Wide(b.replicas) * Wide(a.step.time);
  if (of_a != of_b) return of_a > of_b;
  const std::int64_t used_a = std::int64_t{a.replicas} * a.devices, used_b = std::int64_t{b.replicas} * b.devices;
  return used_a != used_b ? used_a < used_b : a.devices < b.devices;
}

std::vector<DeviceId> default_splits(const Machine& machine) {
  const DeviceId all = machine.num_devices();
  std::vector<DeviceId> in_host;  // devices of each host
  const std::vector<DeviceId> order = devices_by_host(machine);
  for (std::size_t i = 0; i < order.size(); ++i) {
    const bool begins = i == 0 || machine.devices[static_cast<std::size_t>(order[i])].host != machine.devices[static_cast<std::size_t>(order[i - 1])].host;
    if (begins) in_host.push_back(0);
    ++in_host.back();
  }
  std::vector<DeviceId> splits;
  for (DeviceId k = 1; k <= all; ++k) {
    const bool divides_host = std::any_of(in_host.begin(), in_host.end(), [&](DeviceId count) { return count % k == 0; });
    if (all <= kAllSplits || all % k == 0 || divides_host) splits.push_back(k);
  }
  return splits;
}

bool plan_splits(const PlanInputs& inputs, const PlanOptions& options, const std::function<void(PlanRow, const Placement&)>& visit) {
  for (const DeviceId k : splits_to_try(inputs, options)) {
    std::vector<Slice> slices = slices_of(inputs.machine, k);
    if (inputs.gradients.empty()) slices.resize(1);
    const std::vector<Candidate> candidates = candidates_for(inputs, options, slices);
    for (const int replicas : replicas_at_host_borders(inputs.machine, slices)) judge_split(inputs, options, slices, replicas, candidates, visit);
    if (options.partition.should_stop && options.partition.should_stop()) return false;
  }
  return true;
}

}  // namespace pardnn
