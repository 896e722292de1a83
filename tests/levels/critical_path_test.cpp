#include "levels/critical_path.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/random_graphs.hpp"

namespace pardnn {
namespace {

Machine slow_machine(DeviceId devices) { return homogeneous_machine(devices, kUnlimited, 1'000'000'000, 1); }

/// Length of `nodes` as a path; of several edges between two nodes the dearest counts.
template <typename Weight, typename Cost>
Nanoseconds path_length(const Graph& graph, const std::vector<NodeId>& nodes, const Weight& weight, const Cost& cost) {
  Nanoseconds length = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    length += weight(nodes[i]);
    if (i + 1 == nodes.size()) break;
    Nanoseconds dearest = -1;
    for (EdgeId e = graph.out_begin(nodes[i]); e < graph.out_end(nodes[i]); ++e) {
      if (graph.target(e) == nodes[i + 1]) dearest = std::max(dearest, cost(e, nodes[i], nodes[i + 1]));
    }
    if (dearest < 0) ADD_FAILURE() << "no edge from " << nodes[i] << " to " << nodes[i + 1];
    length += dearest;
  }
  return length;
}

TEST(CriticalPath, IsAPathOfItsLength) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph(test::random_graph_data(seed, {.nodes = 1 + static_cast<std::int64_t>(seed % 50), .devices = 3, .outputs = seed % 3 == 0}));
    const Machine machine = slow_machine(3);
    const CostModel costs(graph, machine);
    const WeightedLevels levels = weighted_levels(costs);
    const CriticalPath path = critical_path(costs, levels);
    Nanoseconds greatest = 0;
    for (NodeId v = 0; v < graph.num_nodes(); ++v) greatest = std::max(greatest, levels.weighted(v));
    EXPECT_EQ(path.length, greatest);
    EXPECT_EQ(graph.in_degree(path.nodes.front()), 0);
    EXPECT_EQ(graph.out_degree(path.nodes.back()), 0);
    EXPECT_EQ(path_length(graph, path.nodes, [&](NodeId v) { return graph.comp(v); }, [&](EdgeId e, NodeId, NodeId) { return costs.mean_cost(e); }),
              greatest);

    std::vector<DeviceId> device(graph.num_nodes());
    for (NodeId v = 0; v < graph.num_nodes(); ++v) device[v] = static_cast<DeviceId>((graph.file_id(v) * 7 + 3) % 3);
    const CriticalPath placed = placed_critical_path(costs, device, placed_levels(costs, device));
    EXPECT_EQ(path_length(graph, placed.nodes, [&](NodeId v) { return costs.duration(v, device[v]); },
                          [&](EdgeId e, NodeId u, NodeId v) { return costs.cost(e, device[u], device[v]); }),
              placed.length);
  }
}

/// A -> {B, C} -> D with equal branches: the branch with the lower file id is taken.
TEST(CriticalPath, TiesGoToTheLowerFileId) {
  const Graph graph(test::GraphBuilder().node("D", 1).node("C", 2).node("B", 2).node("A", 1)
                        .edge("A", "B", 3).edge("A", "C", 3).edge("B", "D", 3).edge("C", "D", 3).data());
  const Machine machine = slow_machine(2);
  const CostModel costs(graph, machine);
  const CriticalPath path = critical_path(costs, weighted_levels(costs));
  std::vector<std::int64_t> file_ids;
  for (const NodeId v : path.nodes) file_ids.push_back(graph.file_id(v));
  EXPECT_EQ(file_ids, (std::vector<std::int64_t>{3, 1, 0}));
  EXPECT_EQ(path.length, 1 + 4 + 2 + 4 + 1);
}

TEST(CriticalPath, OfTheEmptyGraphIsEmpty) {
  const Graph graph;
  const Machine machine = slow_machine(2);
  const CostModel costs(graph, machine);
  const CriticalPath path = critical_path(costs, weighted_levels(costs));
  EXPECT_TRUE(path.nodes.empty());
  EXPECT_EQ(path.length, 0);
}

}  // namespace
}  // namespace pardnn
