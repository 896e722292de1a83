#include "baselines/unit_graph.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "construct/plan_checks.hpp"
#include "pardnn/error.hpp"

namespace pardnn {
namespace {

using test::GraphBuilder;

//  A(3) --5--> B(2) --7--> C(0), A --0--> C; {A, C} is one unit of weight 3, joined to B by 5 + 7 bytes; the edge inside the unit is gone.
TEST(UnitGraph, ContractsUnitsAndJoinsEdges) {
  const GraphBuilder builder = GraphBuilder().node("A", 3).node("B", 2).node("C", 0).edge("A", "B", 5).edge("B", "C", 7).edge("A", "C", 0)
                                   .colocate({"A", "C"});
  const Graph graph(builder.data());
  const UnitGraph units = unit_graph(graph, 1'000'000);
  ASSERT_EQ(units.num_units(), 2);
  EXPECT_EQ(units.offsets, (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_EQ(units.neighbours, (std::vector<std::int64_t>{1, 0}));
  EXPECT_EQ(units.edge_weights, (std::vector<std::int64_t>{12, 12}));
  EXPECT_EQ(units.vertex_weights, (std::vector<std::int64_t>{3, 2}));
}

TEST(UnitGraph, WeightsOfTerabytesFitThirtyBits) {
  GraphData data = test::chain(4, std::int64_t{1} << 55, std::int64_t{1} << 55);
  const Graph graph(std::move(data));
  const UnitGraph units = unit_graph(graph, std::int64_t{1} << 30);
  const auto sum = [](const std::vector<std::int64_t>& values) { return std::accumulate(values.begin(), values.end(), std::int64_t{0}); };
  EXPECT_LE(sum(units.vertex_weights), (std::int64_t{1} << 30) + 4);
  EXPECT_LE(sum(units.edge_weights), (std::int64_t{1} << 30) + 6);
  EXPECT_GE(units.edge_weights.front(), 1);
}

TEST(UnitGraph, RefusesWhatTheIndexTypeCannotCount) {
  const UnitGraph units = unit_graph(Graph(test::clique(5)), 100);
  EXPECT_NO_THROW(require_index(units, 21, "metis"));
  EXPECT_THROW(require_index(units, 20, "metis"), InputError);
}

TEST(UnitGraph, OnePartIsTrivial) {
  const Graph graph(test::chain(6));
  const Machine machine = test::byte_per_ns(1);
  std::vector<DeviceId> part;
  EXPECT_TRUE(partition_trivially(CostModel(graph, machine), unit_graph(graph, 100), part));
  EXPECT_EQ(part, std::vector<DeviceId>(6, 0));
}

TEST(UnitGraph, NoMoreUnitsThanPartsGetOneEach) {
  const Graph graph(test::chain(3));
  const Machine machine = test::byte_per_ns(8);
  std::vector<DeviceId> part;
  EXPECT_TRUE(partition_trivially(CostModel(graph, machine), unit_graph(graph, 100), part));
  EXPECT_EQ(part, (std::vector<DeviceId>{0, 1, 2}));
}

// 5, 4, 3, 3 without edges on two devices: 5 + 3 and 4 + 3.
TEST(UnitGraph, WithoutEdgesOnlyBalanceCounts) {
  const Graph graph(GraphBuilder().node("A", 3).node("B", 5).node("C", 4).node("D", 3).data());
  const Machine machine = test::byte_per_ns(2);
  std::vector<DeviceId> part;
  EXPECT_TRUE(partition_trivially(CostModel(graph, machine), unit_graph(graph, 100), part));
  EXPECT_EQ(part, (std::vector<DeviceId>{1, 0, 1, 0}));
}

TEST(UnitGraph, OtherGraphsNeedAPartitioner) {
  const Graph graph(test::chain(9));
  const Machine machine = test::byte_per_ns(2);
  std::vector<DeviceId> part;
  EXPECT_FALSE(partition_trivially(CostModel(graph, machine), unit_graph(graph, 100), part));
}

}  // namespace
}  // namespace pardnn
