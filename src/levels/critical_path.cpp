#include "levels/critical_path.hpp"

namespace pardnn {

namespace {

/// The source from which the costliest path starts; -1 in the empty graph.
NodeId heaviest_source(const Graph& graph, const std::vector<Nanoseconds>& bottom) {
  NodeId best = -1;
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    if (graph.in_degree(v) != 0) continue;
    if (best < 0 || bottom[v] > bottom[best] || (bottom[v] == bottom[best] && graph.file_id(v) < graph.file_id(best))) best = v;
  }
  return best;
}

/// Follows heaviest ways on. `cost(e, u, v)` must be what `levels` were made with.
template <typename Cost>
CriticalPath follow(const Graph& graph, const std::vector<Nanoseconds>& bottom, const Cost& cost) {
  CriticalPath path;
  NodeId v = heaviest_source(graph, bottom);
  if (v >= 0) path.length = bottom[v];
  while (v >= 0) {
    path.nodes.push_back(v);
    NodeId next = -1;
    Nanoseconds heaviest = -1;
    for (EdgeId e = graph.out_begin(v); e < graph.out_end(v); ++e) {  // successors stand by file id: the first wins ties
      const NodeId w = graph.target(e);
      const Nanoseconds way_on = cost(e, v, w) + bottom[w];
      if (way_on <= heaviest) continue;
      heaviest = way_on;
      next = w;
    }
    v = next;
  }
  return path;
}

}  // namespace

CriticalPath critical_path(const CostModel& costs, const WeightedLevels& levels) {
  return follow(costs.graph(), levels.bottom, [&](EdgeId e, NodeId, NodeId) { return costs.mean_cost(e); });
}

CriticalPath placed_critical_path(const CostModel& costs, std::span<const DeviceId> device, const WeightedLevels& levels) {
  return follow(costs.graph(), levels.bottom,
                [&](EdgeId e, NodeId u, NodeId v) { return costs.cost(e, device[u], device[v]); });
}

}  // namespace pardnn
