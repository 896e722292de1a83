/// Levels straight from their definition: relax every edge until nothing changes. Slow, obviously right.
#pragma once

#include <algorithm>
#include <functional>

#include "levels/weighted_levels.hpp"

namespace pardnn::test {

struct SlowCosts {
  std::function<Nanoseconds(NodeId)> weight;
  std::function<Nanoseconds(EdgeId, NodeId, NodeId)> edge;
  std::function<bool(NodeId)> kept = [](NodeId) { return true; };
};

inline WeightedLevels slow_levels(const Graph& graph, const SlowCosts& costs) {
  WeightedLevels levels;
  levels.top.assign(graph.num_nodes(), 0);
  levels.bottom.assign(graph.num_nodes(), 0);
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    if (costs.kept(v)) levels.bottom[v] = costs.weight(v);
  }
  for (bool changed = true; changed;) {
    changed = false;
    const auto raise = [&](Nanoseconds& level, Nanoseconds to) {
      changed = changed || to > level;
      level = std::max(level, to);
    };
    for (NodeId u = graph.num_nodes(); u-- > 0;) {
      for (EdgeId e = graph.out_begin(u); e < graph.out_end(u); ++e) {
        const NodeId v = graph.target(e);
        if (!costs.kept(u) || !costs.kept(v)) continue;
        raise(levels.top[v], levels.top[u] + costs.weight(u) + costs.edge(e, u, v));
        raise(levels.bottom[u], costs.weight(u) + costs.edge(e, u, v) + levels.bottom[v]);
      }
    }
  }
  return levels;
}

inline SlowCosts mean_costs(const CostModel& costs) {
  return {.weight = [&costs](NodeId v) { return costs.graph().comp(v); },
          .edge = [&costs](EdgeId e, NodeId, NodeId) { return costs.mean_cost(e); }};
}

}  // namespace pardnn::test
