#include "refinement/step_one.hpp"

#include <utility>

#include "mapping/mapper.hpp"
#include "parallel/stage_timer.hpp"
#include "refinement/cluster_swap.hpp"
#include "refinement/path_switch.hpp"
#include "slicing/slicer.hpp"

namespace pardnn {

namespace {

/// Takes `refined` if it differs and the driver confirms it.
void accept(const StepOneOptions& options, std::vector<DeviceId> refined, std::vector<DeviceId>& device) {
  if (refined == device || (options.confirm && !options.confirm(refined))) return;
  device = std::move(refined);
}

Clustering slice(const CostModel& costs, const StepOneOptions& options, StageClock& clock) {
  const auto stage = clock.stage("slicing");
  const DeviceId devices = options.devices > 0 && options.devices < costs.num_devices() ? options.devices : costs.num_devices();
  return slice_graph(costs, {.primaries = devices, .jitter = options.jitter, .seed = options.jitter_seed});
}

LevelIndex index_levels(const CostModel& costs, StageClock& clock) {
  const auto stage = clock.stage("levels");
  return {costs.graph(), weighted_levels(costs)};
}

std::vector<DeviceId> map(const CostModel& costs, const Clustering& clustering, const LevelIndex& index, const StepOneOptions& options,
                          StageClock& clock) {
  const auto stage = clock.stage("mapping");
  const MappingOptions mapping{.balance = options.level_aware ? Balance::level_aware : Balance::global,
                               .initial_merge = options.initial_merge,
                               .devices = options.devices};
  return map_clusters(costs, clustering, index, mapping);
}

}  // namespace

std::vector<DeviceId> paper_step_one(const CostModel& costs, const StepOneOptions& options, Progress* progress,
                                     std::vector<StageTime>* stages) {
  const Graph& graph = costs.graph();
  std::vector<StageTime> own_stages;
  StageClock clock(progress, stages != nullptr ? *stages : own_stages);
  const Clustering clustering = slice(costs, options, clock);
  const LevelIndex index = index_levels(costs, clock);
  std::vector<DeviceId> of_cluster = map(costs, clustering, index, options, clock);
  std::vector<DeviceId> device = devices_of_nodes(graph, clustering, of_cluster);
  if (options.confirm) options.confirm(device);
  if (costs.num_devices() == 1) return device;
  const auto stage = clock.stage("refinement");
  if (options.swap) {
    accept(options, devices_of_nodes(graph, clustering, swap_clusters(costs, clustering, index, std::move(of_cluster))), device);
  }
  if (options.switch_) accept(options, switch_along_critical_path(costs, device, costs.num_devices()), device);
  return device;
}

}  // namespace pardnn
