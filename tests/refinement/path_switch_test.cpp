#include "refinement/path_switch.hpp"

#include <gtest/gtest.h>

#include "levels/critical_path.hpp"
#include "support/random_graphs.hpp"

namespace pardnn {
namespace {

Machine slow_machine(DeviceId devices) { return homogeneous_machine(devices, kUnlimited, 1'000'000'000, 0); }

Nanoseconds path_length(const CostModel& costs, const std::vector<DeviceId>& device) {
  return placed_critical_path(costs, device, placed_levels(costs, device)).length;
}

// A(1) -9-> B(1) -9-> C(1): B alone on the other device, so the path takes 21; together it takes 3.
TEST(PathSwitch, NodeJoinsItsNeighbours) {
  const Graph graph(test::chain(3, 1, 9));
  const Machine machine = slow_machine(2);
  const CostModel costs(graph, machine);
  const std::vector<DeviceId> device{0, 1, 0};
  EXPECT_EQ(path_length(costs, device), 21);
  EXPECT_EQ(switch_along_critical_path(costs, device, 1), (std::vector<DeviceId>{0, 0, 0}));
  EXPECT_EQ(switch_along_critical_path(costs, device, 0), device);
}

TEST(PathSwitch, PinnedNodeStaysAndItsNeighboursCome) {
  GraphData data = test::chain(3, 1, 9);
  data.fixed = {-1, 1, -1};
  const Graph graph(std::move(data));
  const Machine machine = slow_machine(2);
  const CostModel costs(graph, machine);
  EXPECT_EQ(switch_along_critical_path(costs, {0, 1, 0}, 2), (std::vector<DeviceId>{1, 1, 1}));
}

TEST(PathSwitch, WholeUnitMovesOrNone) {
  // B and D share a device. B would save 18 on its path, but D's transfers from E would take 60 then.
  const Graph graph(test::GraphBuilder().node("A", 1).node("B", 1).node("C", 1).node("D", 1).node("E", 1)
                        .edge("A", "B", 9).edge("B", "C", 9).edge("E", "D", 60).colocate({"B", "D"}).data());
  const Machine machine = slow_machine(2);
  const CostModel costs(graph, machine);
  const std::vector<DeviceId> device = graph.to_internal<DeviceId>(std::vector<DeviceId>{0, 1, 0, 1, 1});
  const std::vector<DeviceId> after = graph.to_file_order<DeviceId>(switch_along_critical_path(costs, device, 2));
  EXPECT_EQ(after, (std::vector<DeviceId>{1, 1, 1, 1, 1}));
}

TEST(PathSwitch, NeverLengthensTheCriticalPathAndKeepsUnitsAndPins) {
  int shorter = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph(test::random_graph_data(seed, {.nodes = 1 + static_cast<std::int64_t>(seed % 80), .window = seed % 2 == 0 ? 5 : 0, .devices = 3}));
    Machine machine = slow_machine(3);
    if (seed % 3 == 0) machine.devices[2].speed = 500'000;
    const CostModel costs(graph, machine);
    test::TestRandom random(seed);
    std::vector<DeviceId> device(graph.num_nodes());
    for (UnitId u = 0; u < graph.num_units(); ++u) {
      const DeviceId d = graph.unit_fixed(u) != kNoDevice ? graph.unit_fixed(u) : static_cast<DeviceId>(random.below(3));
      for (const NodeId v : graph.unit_nodes(u)) device[v] = d;
    }
    const std::vector<DeviceId> after = switch_along_critical_path(costs, device, 3);
    EXPECT_LE(path_length(costs, after), path_length(costs, device));
    shorter += path_length(costs, after) < path_length(costs, device) ? 1 : 0;
    for (NodeId v = 0; v < graph.num_nodes(); ++v) {
      EXPECT_EQ(after[v], after[graph.unit_nodes(graph.unit(v)).front()]);
      if (graph.fixed(v) != kNoDevice) {
        EXPECT_EQ(after[v], graph.fixed(v));
      }
    }
  }
  EXPECT_GT(shorter, 150);
}

TEST(PathSwitch, EmptyGraph) {
  const Graph graph;
  const Machine machine = slow_machine(2);
  EXPECT_TRUE(switch_along_critical_path(CostModel(graph, machine), {}, 2).empty());
}

}  // namespace
}  // namespace pardnn
