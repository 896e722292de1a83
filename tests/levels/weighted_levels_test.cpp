#include "levels/weighted_levels.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include "levels/shrinking_levels.hpp"
#include "levels/slow_levels.hpp"
#include "support/random_graphs.hpp"

namespace pardnn {
namespace {

using test::GraphBuilder;
using test::RandomGraphOptions;

/// One byte takes one nanosecond.
Machine slow_machine(DeviceId devices, Nanoseconds latency = 0) {
  return homogeneous_machine(devices, kUnlimited, 1'000'000'000, latency);
}

/// Two speeds, two kinds of links.
Machine mixed_machine() {
  Machine machine = slow_machine(3, 2);
  machine.devices[1].speed = 1'500'000;
  machine.devices[2].speed = 500'000;
  machine.bandwidth[machine.link(0, 2)] = 300'000'000;
  machine.latency[machine.link(2, 1)] = 7;
  return machine;
}

std::vector<Nanoseconds> by_name(const Graph& graph, const std::vector<Nanoseconds>& values) {
  return graph.to_file_order<Nanoseconds>(values);
}

void expect_equal(const WeightedLevels& a, const WeightedLevels& b) {
  EXPECT_EQ(a.top, b.top);
  EXPECT_EQ(a.bottom, b.bottom);
}

std::vector<DeviceId> random_devices(const Graph& graph, DeviceId devices, std::uint64_t seed) {
  test::TestRandom random(seed);
  std::vector<DeviceId> device(graph.num_nodes());
  for (DeviceId& d : device) d = static_cast<DeviceId>(random.below(devices));
  return device;
}

//        4        1
//   A(3) --> B(2) --> D(1)      tl: A 0, B 7, C 4, D 15
//    | 1             ^          bl: A 16, B 4, C 12, D 1
//    +-----> C(5) ---+ 6        critical path A C D: 3 + 1 + 5 + 6 + 1 = 16
TEST(WeightedLevels, SmallGraph) {
  const Graph graph(GraphBuilder().node("A", 3).node("B", 2).node("C", 5).node("D", 1)
                        .edge("A", "B", 4).edge("A", "C", 1).edge("B", "D", 1).edge("C", "D", 6).data());
  const Machine machine = slow_machine(2);
  const CostModel costs(graph, machine);
  const WeightedLevels levels = weighted_levels(costs);
  EXPECT_EQ(by_name(graph, levels.top), (std::vector<Nanoseconds>{0, 7, 4, 15}));
  EXPECT_EQ(by_name(graph, levels.bottom), (std::vector<Nanoseconds>{16, 4, 12, 1}));
}

TEST(WeightedLevels, EdgesInsideADeviceCostNothing) {
  const Graph graph(GraphBuilder().node("A", 3).node("B", 2).node("C", 5).node("D", 1)
                        .edge("A", "B", 4).edge("A", "C", 1).edge("B", "D", 1).edge("C", "D", 6).data());
  const Machine machine = slow_machine(2);
  const CostModel costs(graph, machine);
  const std::vector<DeviceId> device = graph.to_internal<DeviceId>(std::vector<DeviceId>{0, 1, 0, 0});
  const WeightedLevels levels = placed_levels(costs, device);
  EXPECT_EQ(by_name(graph, levels.top), (std::vector<Nanoseconds>{0, 7, 3, 10}));
  EXPECT_EQ(by_name(graph, levels.bottom), (std::vector<Nanoseconds>{11, 4, 6, 1}));
}

TEST(WeightedLevels, RandomGraphsAgreeWithTheDefinition) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const RandomGraphOptions options{.nodes = 1 + static_cast<std::int64_t>(seed % 40), .window = seed % 3 == 0 ? 3 : 0, .devices = 3, .outputs = seed % 5 == 0};
    const Graph graph(test::random_graph_data(seed, options));
    const Machine machine = seed % 2 == 0 ? slow_machine(3, 1) : mixed_machine();
    const CostModel costs(graph, machine);
    expect_equal(weighted_levels(costs), test::slow_levels(graph, test::mean_costs(costs)));

    const std::vector<DeviceId> device = random_devices(graph, 3, seed);
    const WeightedLevels placed = placed_levels(costs, device);
    expect_equal(placed, test::slow_levels(graph, {.weight = [&](NodeId v) { return costs.duration(v, device[v]); },
                                                   .edge = [&](EdgeId e, NodeId u, NodeId v) { return costs.cost(e, device[u], device[v]); }}));
    EXPECT_EQ(placed_bottom_levels(costs, device), placed.bottom);
  }
}

TEST(WeightedLevels, RemovedNodesAndTheirEdgesDoNotExist) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Graph graph(test::random_graph_data(seed, {.nodes = 30, .devices = 3}));
    const Machine machine = slow_machine(3, 1);
    const CostModel costs(graph, machine);
    test::TestRandom random(seed);
    std::vector<char> removed(graph.num_nodes());
    for (char& r : removed) r = random.chance(40) ? 1 : 0;
    test::SlowCosts slow = test::mean_costs(costs);
    slow.kept = [&](NodeId v) { return removed[v] == 0; };
    const WeightedLevels expected = test::slow_levels(graph, slow);
    WeightedLevels levels;
    weighted_levels_without(costs, removed, levels);
    expect_equal(levels, expected);
    ShrinkingLevels shrinking(costs);
    shrinking.recompute(std::vector<char>(graph.num_nodes(), 0));  // nothing of an earlier round may remain
    expect_equal(shrinking.recompute(removed), expected);
  }
}

TEST(WeightedLevels, ShrinkingLevelsUseTheGivenWeights) {
  const Graph graph(test::random_graph_data(4, {.nodes = 40, .devices = 2}));
  const Machine machine = slow_machine(2, 1);
  const CostModel costs(graph, machine);
  std::vector<Nanoseconds> weights(graph.num_nodes());
  for (NodeId v = 0; v < graph.num_nodes(); ++v) weights[v] = (7 * v) % 11;
  test::SlowCosts slow = test::mean_costs(costs);
  slow.weight = [&](NodeId v) { return weights[v]; };
  ShrinkingLevels shrinking(costs, weights);
  expect_equal(shrinking.recompute(std::vector<char>(graph.num_nodes(), 0)), test::slow_levels(graph, slow));
}

/// Levels of a graph large enough for threads, on 1 and on more of them.
void expect_same_on_all_threads(GraphData data) {
  const Graph graph(std::move(data));
  const Machine machine = slow_machine(4, 3);
  const CostModel costs(graph, machine);
  const std::vector<DeviceId> device = random_devices(graph, 4, 1);
  std::vector<char> removed(graph.num_nodes(), 0);
  for (NodeId v = 0; v < graph.num_nodes(); v += 7) removed[v] = 1;
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const WeightedLevels mean = weighted_levels(costs), placed = placed_levels(costs, device);
  WeightedLevels without;
  weighted_levels_without(costs, removed, without);
  for (const int threads : {2, 3, 8}) {
    omp_set_num_threads(threads);
    expect_equal(weighted_levels(costs), mean);
    expect_equal(placed_levels(costs, device), placed);
    EXPECT_EQ(placed_bottom_levels(costs, device), placed.bottom);
    ShrinkingLevels shrinking(costs);
    expect_equal(shrinking.recompute(removed), without);
  }
  omp_set_num_threads(before);
}

TEST(WeightedLevels, DeepGraphIsTheSameOnAllThreads) {
  expect_same_on_all_threads(test::random_graph_data(1, RandomGraphOptions::plain(30'000, 6)));
}

TEST(WeightedLevels, WideGraphIsTheSameOnAllThreads) {
  expect_same_on_all_threads(test::random_graph_data(2, RandomGraphOptions::plain(60'000)));
  expect_same_on_all_threads(test::star(100'000));
}

TEST(WeightedLevels, EmptyGraphSingleNodeAndOneDevice) {
  const Machine machine = slow_machine(1);
  const Graph empty;
  EXPECT_TRUE(weighted_levels(CostModel(empty, machine)).top.empty());
  const Graph single(test::chain(1, 9));
  EXPECT_EQ(weighted_levels(CostModel(single, machine)).weighted(0), 9);
  const Graph pair(test::chain(2, 9, 100));
  EXPECT_EQ(weighted_levels(CostModel(pair, machine)).weighted(0), 18) << "one device: communication costs nothing";
}

}  // namespace
}  // namespace pardnn
