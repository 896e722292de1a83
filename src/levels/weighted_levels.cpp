#include "levels/weighted_levels.hpp"

#include <algorithm>

#include "levels/level_sweep.hpp"

namespace pardnn {

namespace {

/// Costs before placement.
struct MeanCosts {
  const CostModel& costs;
  Nanoseconds weight(NodeId v) const { return costs.graph().comp(v); }
  Nanoseconds edge(EdgeId e, NodeId, NodeId) const { return costs.mean_cost(e); }
};

/// Costs of the placed graph.
struct PlacedCosts {
  const CostModel& costs;
  std::span<const DeviceId> device;
  Nanoseconds weight(NodeId v) const { return costs.duration(v, device[v]); }
  Nanoseconds edge(EdgeId e, NodeId u, NodeId v) const { return costs.cost(e, device[u], device[v]); }
};

/// Latest arrival over v's in-edges, 0 without any: `kept(u)` tells which predecessors exist.
template <typename Costs, typename Kept>
Nanoseconds top_level(const Costs& view, NodeId v, const std::vector<Nanoseconds>& top, const Kept& kept) {
  const Graph& graph = view.costs.graph();
  Nanoseconds latest = 0;
  for (EdgeId i = graph.in_begin(v); i < graph.in_end(v); ++i) {
    const NodeId u = graph.source(i);
    if (kept(u)) latest = std::max(latest, top[u] + view.weight(u) + view.edge(graph.in_edge(i), u, v));
  }
  return latest;
}

/// v's own time and its heaviest way on.
template <typename Costs, typename Kept>
Nanoseconds bottom_level(const Costs& view, NodeId u, const std::vector<Nanoseconds>& bottom, const Kept& kept) {
  const Graph& graph = view.costs.graph();
  Nanoseconds heaviest = 0;
  for (EdgeId e = graph.out_begin(u); e < graph.out_end(u); ++e) {
    const NodeId v = graph.target(e);
    if (kept(v)) heaviest = std::max(heaviest, view.edge(e, u, v) + bottom[v]);
  }
  return view.weight(u) + heaviest;
}

template <typename Costs, typename Kept>
void compute_levels(const Costs& view, const Kept& kept, WeightedLevels& levels) {
  const Graph& graph = view.costs.graph();
  levels.top.resize(graph.num_nodes());
  levels.bottom.resize(graph.num_nodes());
  sweep_both(
      graph, [&](NodeId v) { levels.top[v] = kept(v) ? top_level(view, v, levels.top, kept) : 0; },
      [&](NodeId v) { levels.bottom[v] = kept(v) ? bottom_level(view, v, levels.bottom, kept) : 0; });
}

constexpr auto kAll = [](NodeId) { return true; };

}  // namespace

WeightedLevels weighted_levels(const CostModel& costs) {
  WeightedLevels levels;
  compute_levels(MeanCosts{costs}, kAll, levels);
  return levels;
}

void weighted_levels_without(const CostModel& costs, std::span<const char> removed, WeightedLevels& levels) {
  compute_levels(MeanCosts{costs}, [removed](NodeId v) { return removed[v] == 0; }, levels);
}

WeightedLevels placed_levels(const CostModel& costs, std::span<const DeviceId> device) {
  WeightedLevels levels;
  compute_levels(PlacedCosts{costs, device}, kAll, levels);
  return levels;
}

std::vector<Nanoseconds> placed_bottom_levels(const CostModel& costs, std::span<const DeviceId> device) {
  const PlacedCosts view{costs, device};
  std::vector<Nanoseconds> bottom(costs.graph().num_nodes());
  sweep_backward(costs.graph(), sweep_threads(costs.graph()), [&](NodeId v) { bottom[v] = bottom_level(view, v, bottom, kAll); });
  return bottom;
}

}  // namespace pardnn
