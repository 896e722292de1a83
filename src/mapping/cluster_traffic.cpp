#include "mapping/cluster_traffic.hpp"

#include <algorithm>

namespace pardnn {

namespace {

/// Calls visit(neighbour's cluster, mean cost) for each edge with exactly one end in cluster c.
template <typename Visit>
void for_each_cut_edge(const CostModel& costs, const Clustering& clustering, ClusterId c, const Visit& visit) {
  const Graph& graph = costs.graph();
  const auto visit_edge = [&](NodeId neighbour, EdgeId e) {
    const ClusterId other = clustering.of_unit[graph.unit(neighbour)];
    if (other != c) visit(other, costs.mean_cost(e));
  };
  for_each_node(graph, clustering, c, [&](NodeId v) {
    for (EdgeId i = graph.in_begin(v); i < graph.in_end(v); ++i) visit_edge(graph.source(i), graph.in_edge(i));
    for (EdgeId e = graph.out_begin(v); e < graph.out_end(v); ++e) visit_edge(graph.target(e), e);
  });
}

}  // namespace

LevelRange cluster_span(const CostModel& costs, const LevelIndex& index, const Clustering& clustering, ClusterId c) {
  const Graph& graph = costs.graph();
  if (clustering.cluster(c).empty()) return {};
  std::int64_t first = index.size(), last = -1;
  for_each_node(graph, clustering, c, [&](NodeId v) {
    first = std::min(first, index.position(v));
    last = std::max(last, index.position(v));
  });
  const NodeId head = index.node(first), tail = index.node(last);
  Nanoseconds from = 0, to = index.length();
  for (EdgeId i = graph.in_begin(head); i < graph.in_end(head); ++i) {
    const NodeId u = graph.source(i);
    from = std::max(from, index.top(u) + graph.comp(u));
  }
  for (EdgeId e = graph.out_begin(tail); e < graph.out_end(tail); ++e) to = std::min(to, index.top(graph.target(e)));
  return index.range(from, to);
}

Nanoseconds cluster_communication(const CostModel& costs, const Clustering& clustering, ClusterId c) {
  Nanoseconds sum = 0;
  for_each_cut_edge(costs, clustering, c, [&](ClusterId, Nanoseconds cost) { sum += cost; });
  return sum;
}

ClusterTraffic::ClusterTraffic(const CostModel& costs, const Clustering& clustering)
    : costs_(&costs), clustering_(&clustering), with_device_(costs.num_devices()) {}

void ClusterTraffic::measure(ClusterId c, std::span<const DeviceId> device_of_cluster) { measure(c, c, device_of_cluster); }

void ClusterTraffic::measure(ClusterId c, ClusterId other, std::span<const DeviceId> device_of_cluster) {
  std::fill(with_device_.begin(), with_device_.end(), 0);
  total_ = with_other_ = 0;
  for_each_cut_edge(*costs_, *clustering_, c, [&](ClusterId neighbour, Nanoseconds cost) {
    if (neighbour == other) with_other_ += cost;
    const DeviceId d = device_of_cluster[neighbour];
    if (d == kNoDevice) return;
    with_device_[d] += cost;
    total_ += cost;
  });
}

DeviceId ClusterTraffic::busiest(std::span<const DeviceId> devices) const {
  DeviceId best = kNoDevice;
  for (const DeviceId d : devices) {
    if (with_device_[d] > (best == kNoDevice ? 0 : with_device_[best])) best = d;
  }
  return best;
}

}  // namespace pardnn
