#include "baselines/blocks.hpp"

#include <gtest/gtest.h>

#include "construct/plan_checks.hpp"

namespace pardnn {
namespace {

using test::GraphBuilder;

std::vector<DeviceId> in_file_order(const Graph& graph, const Constructed& plan) {
  return graph.to_file_order(std::span<const DeviceId>(plan.device));
}

// Work 2 2 2 2 in a chain, two devices: the second half on the second.
TEST(Blocks, CutWhereTheWorkIsHalved) {
  const Graph graph(test::chain(4, 2));
  const Machine machine = test::byte_per_ns(2);
  EXPECT_EQ(topological_blocks(CostModel(graph, machine)).device, (std::vector<DeviceId>{0, 0, 1, 1}));
}

// Device 0 is three times as fast: three quarters of the work.
TEST(Blocks, SharesFollowSpeeds) {
  const Graph graph(test::chain(4, 2));
  Machine machine = test::byte_per_ns(2);
  machine.devices[0].speed = 3 * kOne;
  EXPECT_EQ(topological_blocks(CostModel(graph, machine)).device, (std::vector<DeviceId>{0, 0, 0, 1}));
}

TEST(Blocks, NodesCountWhereThereIsNoWork) {
  const Graph graph(test::chain(4, 0));
  const Machine machine = test::byte_per_ns(2);
  EXPECT_EQ(topological_blocks(CostModel(graph, machine)).device, (std::vector<DeviceId>{0, 0, 1, 1}));
}

// Two chains A0 -> A1, B0 -> B1, in the file one after the other: by depth the cut separates depths, by file order it separates chains.
TEST(Blocks, FileOrderIsAnotherOrder) {
  const GraphBuilder builder = GraphBuilder().node("A0", 1).node("A1", 1).node("B0", 1).node("B1", 1).edge("A0", "A1", 1).edge("B0", "B1", 1);
  const Graph graph(builder.data());
  const Machine machine = test::byte_per_ns(2);
  const CostModel costs(graph, machine);
  EXPECT_EQ(in_file_order(graph, topological_blocks(costs)), (std::vector<DeviceId>{0, 1, 0, 1}));
  EXPECT_EQ(in_file_order(graph, file_order_blocks(costs)), (std::vector<DeviceId>{0, 0, 1, 1}));
}

TEST(Blocks, MoreDevicesThanNodes) {
  const Graph graph(test::chain(2, 1));
  const Machine machine = test::byte_per_ns(5);
  const std::vector<DeviceId> device = topological_blocks(CostModel(graph, machine)).device;
  EXPECT_LT(device[0], device[1]);
  EXPECT_LT(device[1], 5);
}

}  // namespace
}  // namespace pardnn
