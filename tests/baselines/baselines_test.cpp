#include "baselines/baselines.hpp"

#include <gtest/gtest.h>

#include <set>

#include "baselines/linear_clustering.hpp"
#include "construct/plan_checks.hpp"
#include "emulation/emulator.hpp"
#include "support/random_machines.hpp"

namespace pardnn {
namespace {

using test::GraphBuilder;

const Baseline& baseline(std::string_view name) {
  for (const Baseline& b : all_baselines()) {
    if (b.name == name) return b;
  }
  throw std::out_of_range(std::string(name));
}

/// Devices in file order.
std::vector<DeviceId> placed(const GraphBuilder& builder, const Machine& machine, std::string_view name) {
  const Graph graph(builder.data());
  const CostModel costs(graph, machine);
  return graph.to_file_order(std::span<const DeviceId>(baseline(name).run(costs).device));
}

TEST(Baselines, NamesAreUniqueAndInTheOrderOfTheTable) {
  const std::vector<std::string_view> must{"single", "rr", "blocks", "blocks-id", "heft", "etf", "heft-lazy",
                                           "etf-lazy", "eil", "lc", "m-topo", "m-etf", "m-sct"};
  std::set<std::string_view> seen;
  for (std::size_t i = 0; i < all_baselines().size(); ++i) {
    const Baseline& b = all_baselines()[i];
    EXPECT_TRUE(seen.insert(b.name).second) << b.name;
    EXPECT_FALSE(b.what.empty()) << b.name;
    if (i < must.size()) {
      EXPECT_EQ(b.name, must[i]);
    }
  }
  EXPECT_GE(all_baselines().size(), must.size());
}

TEST(Baselines, EveryOneIsLegalOnEveryGraphAndMachine) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    test::TestRandom random(seed);
    const DeviceId devices = 1 + static_cast<DeviceId>(random.below(5));
    test::RandomGraphOptions shape;
    shape.nodes = 1 + random.below(80);
    shape.window = random.below(2) * 6;
    shape.outputs = seed % 3 == 0;
    shape.devices = devices;
    const Graph graph(test::random_graph_data(seed, shape));
    const auto kind = static_cast<test::MachineKind>(seed % test::kMachineKinds);
    const Bytes memory = seed % 2 == 0 ? kUnlimited : 200;
    const Machine machine = test::random_machine(random, kind, devices, memory, seed % 4 == 0 ? Links::ports : Links::free);
    const CostModel costs(graph, machine);
    for (const Baseline& b : all_baselines()) {
      SCOPED_TRACE(std::string(b.name) + ", seed " + std::to_string(seed));
      const Constructed plan = b.run(costs);
      test::expect_legal_placement(costs, plan);
      if (!plan.priority.empty()) test::expect_topological_priority(graph, plan);
      EXPECT_EQ(b.run(costs).device, plan.device) << "not the same twice";
      Emulator emulator(costs);
      EXPECT_GE(emulator.run(plan.device, Policy::priority, plan.priority).makespan, lower_bound(graph, machine));
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(Baselines, EmptyGraphsAndSingleNodes) {
  for (const Baseline& b : all_baselines()) {
    EXPECT_TRUE(placed(GraphBuilder(), test::byte_per_ns(3), b.name).empty()) << b.name;
    EXPECT_EQ(placed(GraphBuilder().node("A", 1), test::byte_per_ns(1), b.name), (std::vector<DeviceId>{0})) << b.name;
  }
}

TEST(Baselines, SingleTakesTheFastestDeviceAndLeavesPins) {
  Machine machine = test::byte_per_ns(3);
  machine.devices[1].speed = machine.devices[2].speed = 2 * kOne;
  const GraphBuilder builder = GraphBuilder().node("A", 1).node("B", 1).node("C", 1).pin("C", 0);
  EXPECT_EQ(placed(builder, machine, "single"), (std::vector<DeviceId>{1, 1, 0}));
}

// Depths: A, B | C, D. The group {A, C} takes its turn at A; pinned B takes none.
TEST(Baselines, RoundRobinDealsUnitsInTopologicalOrder) {
  const GraphBuilder builder = GraphBuilder()
                                   .node("C", 1).node("A", 1).node("B", 1).node("D", 1)
                                   .edge("A", "C", 1).edge("A", "D", 1).colocate({"A", "C"}).pin("B", 2);
  EXPECT_EQ(placed(builder, test::byte_per_ns(3), "rr"), (std::vector<DeviceId>{0, 0, 2, 1}));
}

//  A(1) --9--> B(5) --9--> D(1)   Critical path A B D = 7 + 18, then C alone: two clusters, the longer to device 0.
//    `----1--> C(2) --1--> D
TEST(Baselines, LinearClusteringTakesCriticalPaths) {
  const GraphBuilder builder = GraphBuilder().node("A", 1).node("B", 5).node("C", 2).node("D", 1)
                                   .edge("A", "B", 9).edge("B", "D", 9).edge("A", "C", 1).edge("C", "D", 1);
  const std::vector<DeviceId> device = placed(builder, test::byte_per_ns(2), "lc");
  EXPECT_EQ(device[0], device[1]);
  EXPECT_EQ(device[1], device[3]);
  EXPECT_NE(device[2], device[0]);
}

TEST(Baselines, LinearClusteringBoundsItsRounds) {
  const Graph small(test::chain(10));
  EXPECT_EQ(linear_clustering_rounds(small), kLevelSteps / 19);
  EXPECT_GE(linear_clustering_rounds(Graph()), 1);
}

// With unlimited memory m-ETF is ETF.
TEST(Baselines, MemoryEtfIsEtfWhereMemoryIsUnlimited) {
  const Graph graph(test::random_graph_data(4, test::RandomGraphOptions::plain(60, 8)));
  const Machine machine = test::byte_per_ns(3, 2);
  const CostModel costs(graph, machine);
  EXPECT_EQ(baseline("m-etf").run(costs).start, baseline("etf").run(costs).start);
}

}  // namespace
}  // namespace pardnn
