#include "search/replica_starts.hpp"

#include <memory>
#include <string>
#include <vector>

#include "construct/list_scheduler.hpp"
#include "construct/replica_start.hpp"

namespace pardnn {
namespace {

std::string name_of(const ReplicaLayout& layout) {
  std::string name = "replicas";
  if (layout.stages > 1) name += " in " + std::to_string(layout.stages) + " stages";
  name += layout.whole ? ", whole" : ", wrapped";
  return name + (layout.sum_on_the_way ? ", sums on the way" : "");
}

std::vector<ReplicaLayout> layouts(Preset preset, DeviceId devices, bool tight) {
  std::vector<ReplicaLayout> all;
  for (DeviceId stages = 1; stages <= devices; stages *= 2) {
    if (stages > 1 && !tight && preset != Preset::strong) break;
    for (const bool way : {true, false}) {
      all.push_back({stages, false, way});
      if (preset == Preset::fast) return all;
      all.push_back({stages, true, way});
    }
  }
  return all;
}

/// EIL for which each replica has `size` devices of its own.
struct TeamVariant {
  DeviceId size;
  bool sum_on_the_way;
};

std::vector<TeamVariant> team_variants(Preset preset, DeviceId devices) {
  std::vector<TeamVariant> all;
  if (preset == Preset::fast) return all;
  for (DeviceId size = 1; size <= devices / 2 && (size <= 4 || preset == Preset::strong); size *= 2) {
    all.push_back({size, true});
    if (size > 1) all.push_back({size, false});
  }
  return all;
}

/// Parameters where the pure layout has them, replicas within their team, the rest anywhere.
Constructed eil_in_teams(const CostModel& costs, Dispatch dispatch, const Replicas& replicas, const Constructed& layout, const TeamVariant& variant) {
  const Graph& graph = costs.graph();
  const std::int64_t teams = costs.num_devices() / variant.size;
  std::vector<DeviceRange> team_of(static_cast<std::size_t>(graph.num_nodes()));
  std::vector<DeviceId> given(team_of.size(), kNoDevice);
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    if (graph.is_residual(graph.root(v))) given[v] = layout.device[v];
    const std::int64_t replica = (variant.sum_on_the_way ? replicas.meets_at : replicas.of_node)[v];
    if (replica < 0) continue;
    const auto team = static_cast<DeviceId>(replica * teams / replicas.count);
    team_of[v] = {team * variant.size, (team + 1) * variant.size};
  }
  ListOptions options;
  options.lazy_sources = true;
  options.reserve = kOne;
  options.dispatch = dispatch;
  options.ports = costs.machine().links == Links::ports;
  options.given = given;
  options.teams = team_of;
  return construct_list(costs, options);
}

/// ETF around whole replicas: sums, updates and parameters fill what the replicas leave idle.
Constructed etf_around(const CostModel& costs, const Replicas& replicas, const Constructed& layout) {
  const Graph& graph = costs.graph();
  std::vector<DeviceId> given(static_cast<std::size_t>(graph.num_nodes()), kNoDevice);
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    if (replicas.of_node[v] >= 0) given[v] = layout.device[v];
  }
  ListOptions options;
  options.method = ListMethod::etf;
  options.given = given;
  return construct_list(costs, options);
}

}  // namespace

void list_replica_starts(StartList& starts, Pool& pool, Preset preset) {
  const CostModel& costs = pool.judge().costs();
  // Fewer than two of them, or little work in them: the layouts would say nothing.
  const auto replicas = std::make_shared<const Replicas>(find_replicas(costs.graph()));
  if (replicas->count < 2 || replicas->work < costs.graph().total_comp() / 2) return;
  const auto groups = std::make_shared<const AffinityGroups>(affinity_groups(costs));
  for (const ReplicaLayout& layout : layouts(preset, costs.num_devices(), pool.judge().memory_matters())) {
    starts.add([&costs, groups, replicas, layout](StartSheet& sheet) {
      sheet.add(replica_start(costs, *groups, *replicas, layout), name_of(layout));
    });
  }
  // It plans an order, and without ports.
  if (preset != Preset::fast && pool.judge().policy() == Policy::priority && costs.machine().links == Links::free) {
    starts.add([&costs, groups, replicas](StartSheet& sheet) {
      constexpr ReplicaLayout kWhole{1, true, false};
      sheet.add(etf_around(costs, *replicas, replica_start(costs, *groups, *replicas, kWhole)), name_of(kWhole) + ", etf around");
    });
  }
  const Dispatch dispatch = pool.judge().policy() == Policy::priority ? Dispatch::bottom_level : Dispatch::fifo;
  for (const TeamVariant& variant : team_variants(preset, costs.num_devices())) {
    starts.add([&costs, groups, replicas, variant, dispatch](StartSheet& sheet) {
      const Constructed layout = replica_start(costs, *groups, *replicas, {1, false, variant.sum_on_the_way});
      sheet.add(eil_in_teams(costs, dispatch, *replicas, layout, variant),
                "replicas in teams of " + std::to_string(variant.size) + (variant.sum_on_the_way ? ", sums on the way" : "") + ", eil");
    });
  }
}

}  // namespace pardnn
