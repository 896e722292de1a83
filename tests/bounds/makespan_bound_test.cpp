#include "bounds/makespan_bound.hpp"

#include <gtest/gtest.h>

#include "emulation/emulator.hpp"
#include "pardnn/emulate.hpp"
#include "support/brute_force.hpp"
#include "support/random_machines.hpp"

namespace pardnn {
namespace {

/// 1 ns for a byte, no latency.
Machine slow_links(DeviceId devices) { return homogeneous_machine(devices, kUnlimited, 1'000'000'000, 0); }

Nanoseconds bound_of(const test::GraphBuilder& builder, const Machine& machine) {
  const Graph graph(builder.data());
  return makespan_bound(CostModel(graph, machine));
}

/// a -> (b0 .. b3) -> c, work 10 each but a and c with 1; edges of `bytes`.
test::GraphBuilder fork_and_join(Bytes bytes) {
  test::GraphBuilder g;
  g.node("a", 1);
  for (const char* name : {"b0", "b1", "b2", "b3"}) g.node(name, 10).edge("a", name, bytes);
  g.node("c", 1);
  for (const char* name : {"b0", "b1", "b2", "b3"}) g.edge(name, "c", bytes);
  return g;
}

TEST(MakespanBound, WorkBetweenAHeadAndATailIsSharedOut) {
  const Graph graph(fork_and_join(0).data());
  const Machine machine = slow_links(2);
  EXPECT_EQ(lower_bound(graph, machine), 21);
  EXPECT_EQ(makespan_bound(CostModel(graph, machine)), 22);
}

TEST(MakespanBound, InputsComeFromHereOneByOneOrOverALink) {
  // Nothing but the first and the last is the same in all placements: near inputs cost their work, far ones the transfer.
  EXPECT_EQ(bound_of(fork_and_join(3), slow_links(4)), 1 + 10 + 3 + 1);
  EXPECT_EQ(bound_of(fork_and_join(100), slow_links(4)), 1 + 40 + 1);
}

TEST(MakespanBound, AUnitRunsOneByOne) {
  test::GraphBuilder g;
  g.node("x", 10).node("y", 10).node("z", 10).colocate({"x", "y", "z"});
  EXPECT_EQ(bound_of(g, slow_links(3)), 30);
}

// Three of 10 on two devices: two of them share one. Each runs between 1 before and 2 behind it.
TEST(MakespanBound, MoreLargeNodesThanDevices) {
  test::GraphBuilder g;
  g.node("a", 1).node("z", 2);
  for (const char* name : {"x", "y", "w"}) g.node(name, 10).edge("a", name, 0).edge(name, "z", 0);
  EXPECT_EQ(bound_of(g, slow_links(2)), 1 + 20 + 2);
  EXPECT_EQ(bound_of(g, slow_links(3)), 1 + 10 + 2);
}

TEST(MakespanBound, PinnedNodesShareTheirDeviceAndOthersAreFar) {
  test::GraphBuilder g;
  g.node("x", 10).node("y", 10).pin("x", 1).pin("y", 1);
  EXPECT_EQ(bound_of(g, slow_links(2)), 20);
  test::GraphBuilder h;
  h.node("x", 10).node("y", 10).edge("x", "y", 7).pin("x", 0).pin("y", 1);
  EXPECT_EQ(bound_of(h, slow_links(2)), 27);
}

TEST(MakespanBound, EmptyGraph) { EXPECT_EQ(bound_of(test::GraphBuilder(), slow_links(2)), 0); }

// Every placement of small graphs, on machines of every kind, under fifo and under many orders.
TEST(MakespanBound, NoPlacementIsShorter) {
  std::int64_t above_plain = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    test::TestRandom random(seed);
    const DeviceId devices = static_cast<DeviceId>(1 + random.below(3));
    test::RandomGraphOptions options;
    options.nodes = 1 + random.below(7);
    options.devices = devices;
    options.outputs = random.chance(30);
    options.colocated = random.chance(50) ? 40 : 0;
    const Graph graph(test::random_graph_data(seed, options));
    const auto kind = static_cast<test::MachineKind>(random.below(test::kMachineKinds));
    const Links links = random.chance(50) ? Links::free : Links::ports;
    const Machine machine = test::random_machine(random, kind, devices, kUnlimited, links);
    const CostModel costs(graph, machine);
    const Nanoseconds bound = makespan_bound(costs);
    above_plain += bound > lower_bound(graph, machine);
    Emulator emulator(costs);
    test::for_each_placement(graph, devices, [&](const std::vector<DeviceId>& device) {
      ASSERT_GE(emulator.run(device, Policy::fifo, {}).makespan, bound) << "seed " << seed;
      for (int order = 0; order < 4; ++order) {
        std::vector<std::int64_t> priority;
        for (NodeId v = 0; v < graph.num_nodes(); ++v) priority.push_back(random.below(100));
        ASSERT_GE(emulator.run(device, Policy::priority, priority).makespan, bound) << "seed " << seed;
      }
    });
  }
  EXPECT_GT(above_plain, 50);
}

}  // namespace
}  // namespace pardnn
