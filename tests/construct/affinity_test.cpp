#include "construct/affinity.hpp"

#include <gtest/gtest.h>

#include <set>

#include "memory/evaluate.hpp"
#include "support/random_graphs.hpp"
#include "support/random_machines.hpp"

namespace pardnn {
namespace {

constexpr AffinitySpread kSpreads[] = {AffinitySpread::blocks, AffinitySpread::blocks_memory, AffinitySpread::cyclic,
                                       AffinitySpread::heaviest_first};

// w1 --> f1 --> f2 --> b2 --> b1,  w2 --> f2, b2;  w1 --> b1. Two layers, forward and backward.
TEST(Affinity, KeepsAParameterWithItsForwardAndBackwardUsers) {
  const GraphData data = test::GraphBuilder()
                             .node("w1", 0, 100).node("w2", 0, 100)
                             .node("f1", 10, 5).node("f2", 10, 5).node("b2", 10, 5).node("b1", 10, 5)
                             .kind("w1", NodeKind::residual).kind("w2", NodeKind::residual)
                             .edge("w1", "f1", 100).edge("f1", "f2", 5).edge("w2", "f2", 100)
                             .edge("f2", "b2", 5).edge("w2", "b2", 100).edge("b2", "b1", 5).edge("w1", "b1", 100)
                             .data();
  const Graph graph(data);
  const Machine machine = homogeneous_machine(2);
  const CostModel costs(graph, machine);
  const AffinityGroups groups = affinity_groups(costs);
  EXPECT_EQ(groups.groups, 2);
  const auto group = [&](std::int64_t file) {
    for (NodeId v = 0; v < graph.num_nodes(); ++v) {
      if (graph.file_id(v) == file) return groups.of_node[v];
    }
    return std::int64_t{-1};
  };
  EXPECT_EQ(group(0), group(2));
  EXPECT_EQ(group(0), group(5));
  EXPECT_EQ(group(1), group(3));
  EXPECT_EQ(group(1), group(4));
  EXPECT_EQ(group(0), 0);  // the layer that runs first
  for (const AffinitySpread spread : kSpreads) {
    const std::vector<DeviceId> device = affinity_start(costs, groups, spread).device;
    EXPECT_EQ(std::set<DeviceId>(device.begin(), device.end()).size(), 2u);
  }
}

// A mask of 1 B that both layers read, 1000 B of weights, which b1 and b2 read last.
TEST(Affinity, AMaskTiesLayersTogetherUnlessLayersAreAskedFor) {
  const GraphData data = test::GraphBuilder()
                             .node("w1", 0, 1000).node("w2", 0, 1000).node("mask", 0, 1)
                             .node("f1", 10, 5).node("f2", 10, 5)
                             .kind("w1", NodeKind::residual).kind("w2", NodeKind::residual).kind("mask", NodeKind::residual)
                             .edge("w1", "f1", 1000).edge("w2", "f2", 1000).edge("mask", "f1", 1).edge("mask", "f2", 1).edge("f1", "f2", 5)
                             .data();
  const Graph graph(data);
  const Machine machine = homogeneous_machine(2);
  const CostModel costs(graph, machine);
  EXPECT_EQ(affinity_groups(costs, AffinityRule::all).groups, 1);
  EXPECT_EQ(affinity_groups(costs, AffinityRule::layers).groups, 2);
}

TEST(Affinity, IsLegalOnAnyGraphAndMachine) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const test::RandomCase c = test::random_case(seed);
    const Graph graph(c.data);
    const CostModel costs(graph, c.machine);
    const AffinityGroups groups = affinity_groups(costs);
    for (const std::int64_t group : groups.of_node) {
      EXPECT_GE(group, 0);
      EXPECT_LT(group, groups.groups);
    }
    for (const AffinitySpread spread : kSpreads) {
      const std::vector<DeviceId> device = affinity_start(costs, groups, spread).device;
      EXPECT_TRUE(broken_rules(graph, device).empty()) << "seed " << seed;
      for (const DeviceId d : device) {
        EXPECT_GE(d, 0);
        EXPECT_LT(d, c.machine.num_devices());
      }
    }
  }
}

}  // namespace
}  // namespace pardnn
