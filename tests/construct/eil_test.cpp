#include "construct/eil.hpp"

#include <gtest/gtest.h>

#include "construct/plan_checks.hpp"
#include "emulation/emulator.hpp"
#include "support/random_machines.hpp"

namespace pardnn {
namespace {

using test::GraphBuilder;
using test::HandPlan;

//  A(2) --10--> B(8)      K = 2, 1 ns a byte, no latency.
//   `---3---> C(8)
//  D(3)
// At 0: A would end at 2 on either device: 0. D: 0 + 2 + 3 = 5 on device 0, 3 on device 1. At 2, A ends: B would end at 10 on 0, at 20 on 1.
// C: device 0 has 8 queued, so 18; device 1 is free at 3, inputs there at 5, so 13.
TEST(Eil, PlacesWhereTheNodeWouldFinishFirst) {
  const GraphBuilder graph = GraphBuilder().node("A", 2).node("B", 8).node("C", 8).node("D", 3).edge("A", "B", 10).edge("A", "C", 3);
  const HandPlan plan(graph, test::byte_per_ns(2), {});
  EXPECT_EQ(plan.on("A"), 0);
  EXPECT_EQ(plan.on("D"), 1);
  EXPECT_EQ(plan.on("B"), 0);
  EXPECT_EQ(plan.on("C"), 1);
  EXPECT_EQ(plan.starts("C"), 5);
  EXPECT_EQ(plan.plan.makespan, 13);
}

// A(4) on device 0; its child B(1) would end at 5 on either device (no bytes, no latency): the lower index, or where the input is.
TEST(Eil, DeviceTies) {
  const GraphBuilder graph = GraphBuilder().node("P", 1).node("A", 4).node("B", 1).edge("A", "B", 0).pin("P", 0).pin("A", 1);
  ListOptions options;
  EXPECT_EQ(HandPlan(graph, test::byte_per_ns(2), options).on("B"), 0);
  options.device_ties = DeviceTies::latest_input;
  EXPECT_EQ(HandPlan(graph, test::byte_per_ns(2), options).on("B"), 1);
}

// Whatever it costs, a node stays within its team; others choose freely.
TEST(Eil, TeamsRestrictDevices) {
  const GraphBuilder graph = GraphBuilder().node("A", 2).node("B", 8).node("C", 8).edge("A", "B", 10).edge("A", "C", 3);
  const std::vector<DeviceRange> teams{{0, 1}, {1, 3}, {}};  // file order is topological here
  ListOptions options;
  options.teams = teams;
  const HandPlan plan(graph, test::byte_per_ns(3), options);
  EXPECT_EQ(plan.on("A"), 0);
  EXPECT_EQ(plan.on("B"), 1);
  EXPECT_EQ(plan.on("C"), 0);
}

// A ends at 1 and releases B(1) and C(9), which has the greater bottom level. Whoever decides first stays with A.
TEST(Eil, WhoDecidesFirst) {
  const GraphBuilder graph = GraphBuilder().node("A", 1).node("B", 1).node("C", 9).edge("A", "B", 1).edge("A", "C", 1);
  ListOptions options;
  options.decide_first = DecideFirst::lower_file_id;
  // B on 0 until 2; C: 0 from 2 to 11, 1 from 2 to 11: a tie, so 0.
  EXPECT_EQ(HandPlan(graph, test::byte_per_ns(2), options).starts("C"), 2);
  options.decide_first = DecideFirst::greater_bottom_level;
  // C on 0 from 1 to 10 in the plan of decisions; B: device 0 would end at 11, device 1 at 3.
  const HandPlan plan(graph, test::byte_per_ns(2), options);
  EXPECT_EQ(plan.starts("C"), 1);
  EXPECT_EQ(plan.on("B"), 1);
}

// B's only consumer is the update U of the unit {W, U} on device 1, 8 bytes away. Alone, B ends a little sooner on device 0.
TEST(Eil, LooksAheadToConsumersThatHaveTheirDevice) {
  const GraphBuilder graph = GraphBuilder()
                                 .node("W", 1).node("A", 3).node("B", 2).node("U", 1).colocate({"W", "U"}).pin("W", 1).pin("A", 0)
                                 .edge("A", "B", 1).edge("B", "U", 8);
  ListOptions options;
  EXPECT_EQ(HandPlan(graph, test::byte_per_ns(2), options).on("B"), 0);
  options.lookahead = kOne;
  EXPECT_EQ(HandPlan(graph, test::byte_per_ns(2), options).on("B"), 1);
}

// A on device 0 ends at 1. B (20) stays. C (12) goes to 1: its input is there at 11, it ends at 23. The input of D (10) could be on 2 at 11 as well:
// 21. With ports it leaves A's port only at 11 and is there at 21: D would end at 31, as late as on 0 behind B.
TEST(Eil, ExpectsTransfersToWaitForThePort) {
  const GraphBuilder graph = GraphBuilder()
                                 .node("A", 1).node("B", 20).node("C", 12).node("D", 10)
                                 .edge("A", "B", 10).edge("A", "C", 10).edge("A", "D", 10);
  ListOptions options;
  options.queue_estimate = QueueEstimate::plan;
  EXPECT_EQ(HandPlan(graph, test::byte_per_ns(3), options).on("D"), 2);
  options.ports = true;
  EXPECT_EQ(HandPlan(graph, test::byte_per_ns(3), options).on("D"), 0);
}

// A's output goes to B on device 1 anyway, from 1 to 11. For C (1) it is there as well, at 11, and on 2 only at 21: C waits for B (2) and starts at 13.
TEST(Eil, WhatIsSentToADeviceIsThereForAll) {
  const GraphBuilder graph = GraphBuilder()
                                 .node("A", 1).node("P", 40).node("B", 2).node("C", 1).pin("A", 0).pin("P", 0).pin("B", 1)
                                 .edge("A", "B", 10).edge("A", "C", 10);
  ListOptions options;
  options.ports = true;
  const HandPlan plan(graph, test::byte_per_ns(3), options);
  EXPECT_EQ(plan.on("C"), 1);
  EXPECT_EQ(plan.starts("C"), 13);
}

// X ends at 1 on device 0, Y at 30 on 1. V on 1 has both inputs at 31 (X sends its 30 bytes early), on 0 at 35; but that keeps a port busy for 30, this for 5.
TEST(Eil, PaysForTheTimeOfPorts) {
  const GraphBuilder graph = GraphBuilder()
                                 .node("X", 1).node("Y", 30).node("V", 1).pin("X", 0).pin("Y", 1).edge("X", "V", 30).edge("Y", "V", 5);
  ListOptions options;
  options.ports = true;
  EXPECT_EQ(HandPlan(graph, test::byte_per_ns(2), options).on("V"), 1);
  EXPECT_EQ(HandPlan(graph, test::byte_per_ns(2), options).starts("V"), 31);
  options.port_price = kOne;
  EXPECT_EQ(HandPlan(graph, test::byte_per_ns(2), options).on("V"), 0);
}

// B (5) would be done 3 sooner on A's device 0 than on 1, where a plan made before had it.
TEST(Eil, StaysWithThePlanMadeBefore) {
  const GraphBuilder graph = GraphBuilder().node("A", 1).node("B", 5).pin("A", 0).edge("A", "B", 3);
  const std::vector<DeviceId> foreseen = {0, 1};
  ListOptions options;
  options.ports = true;
  options.foreseen = foreseen;
  EXPECT_EQ(HandPlan(graph, test::byte_per_ns(2), options).on("B"), 0);
  options.stay = kOne;
  EXPECT_EQ(HandPlan(graph, test::byte_per_ns(2), options).on("B"), 1);
}

// A ends at 1 on device 0, which P keeps busy until 41. B (12, pinned to 1) gets its input there at 26 and is done at 38. C (12) could start on 1 or 2 at
// 26: by the work queued on 1, it is done with B at 1 + 12 = 13, so they look the same; by the plan, 2 is better.
TEST(Eil, ThePlanOfAQueueCountsItsWaiting) {
  const GraphBuilder graph = GraphBuilder()
                                 .node("A", 1).node("P", 40).node("B", 12).node("C", 12).pin("P", 0).pin("A", 0).pin("B", 1)
                                 .edge("A", "B", 25).edge("A", "C", 25);
  ListOptions options;
  options.decide_first = DecideFirst::lower_file_id;
  EXPECT_EQ(HandPlan(graph, test::byte_per_ns(3), options).on("C"), 1);
  options.queue_estimate = QueueEstimate::plan;
  EXPECT_EQ(HandPlan(graph, test::byte_per_ns(3), options).on("C"), 2);
}

// C needs B's output and that of X, which runs on device 1 at that time. B alone would tie at 4 and take the lower index; to have both inputs on one device, it goes to 1.
TEST(Eil, LooksBesideAtOtherInputsOfItsConsumers) {
  const GraphBuilder graph = GraphBuilder()
                                 .node("X", 1).node("A", 1).node("B", 2).node("C", 1).pin("X", 1).pin("A", 2)
                                 .edge("A", "B", 1).edge("B", "C", 5).edge("X", "C", 5);
  ListOptions options;
  options.devices = {0, 1};
  EXPECT_EQ(HandPlan(graph, test::byte_per_ns(3), options).on("B"), 0);
  options.co_inputs = kOne;
  EXPECT_EQ(HandPlan(graph, test::byte_per_ns(3), options).on("B"), 1);
}

//  A(4) -> V(0) -> X(9) -> Y(9)     K = 2, A on device 0, edges of 3 bytes; file order A, W, V, X, Y.
//   `----> W(9)
// At 4, V takes device 0 and W, with the lower bottom level, would end there at 13, on 1 at 16. But W has the lower id: it would run before V, and X
// behind V would start at 13 instead of 4. Charged for these 9, W goes to 1; charged for a third of them (13 + 3), it still prefers the lower index.
TEST(Eil, KeepsItsDeviceForTheHeir) {
  const GraphBuilder graph = GraphBuilder()
                                 .node("A", 4).node("W", 9).node("V", 0).node("X", 9).node("Y", 9).pin("A", 0)
                                 .edge("A", "W", 3).edge("A", "V", 3).edge("V", "X", 3).edge("X", "Y", 3);
  ListOptions options;
  EXPECT_EQ(HandPlan(graph, test::byte_per_ns(2), options).plan.makespan, 31);
  options.reserve = kOne / 3;
  EXPECT_EQ(HandPlan(graph, test::byte_per_ns(2), options).on("W"), 0);
  options.reserve = kOne;
  const HandPlan plan(graph, test::byte_per_ns(2), options);
  EXPECT_EQ(plan.on("W"), 1);
  EXPECT_EQ(plan.on("X"), 0);
  EXPECT_EQ(plan.starts("X"), 4);
  EXPECT_EQ(plan.plan.makespan, 22);
}

//  A(4) -> V(1) -> U(1) -> X(10)    The mean duration is 4: V and U are short to a tenth of it, rounded up.
//   `----> Z(1) -> W(9)             File order A, Z, V, U, W, X.
// At 5, Z has run and V runs; W would be done on device 0 at 15, on 1 at 17. U goes before W, X behind it does not.
TEST(Eil, LooksThroughShortNodesForTheHeir) {
  const GraphBuilder graph = GraphBuilder()
                                 .node("A", 4).node("Z", 1).node("V", 1).node("U", 1).node("W", 9).node("X", 10).pin("A", 0)
                                 .edge("A", "Z", 3).edge("A", "V", 3).edge("V", "U", 3).edge("U", "X", 3).edge("Z", "W", 3);
  ListOptions options;
  options.reserve = kOne;
  EXPECT_EQ(HandPlan(graph, test::byte_per_ns(2), options).on("W"), 1);
  options.heir_through = 0;
  EXPECT_EQ(HandPlan(graph, test::byte_per_ns(2), options).on("W"), 0);
}

// The heir X of A is placed on device 1 (pinned) before W comes: device 0 has nothing left to wait for.
TEST(Eil, KeepsNothingForHeirsThatHaveADevice) {
  const GraphBuilder graph = GraphBuilder()
                                 .node("A", 4).node("W", 9).node("V", 0).node("X", 9).node("Y", 9).pin("A", 0).pin("X", 1)
                                 .edge("A", "W", 3).edge("A", "V", 3).edge("V", "X", 3).edge("X", "Y", 3);
  ListOptions options;
  options.reserve = kOne;
  EXPECT_EQ(HandPlan(graph, test::byte_per_ns(2), options).on("W"), 0);
}

/// Random graph and machine of any kind.
struct RandomPlan {
  RandomPlan(std::uint64_t seed, bool ports_free = true)
      : random(seed), graph(test::random_graph_data(seed, shape(seed))),
        machine(test::random_machine(random, static_cast<test::MachineKind>(seed % test::kMachineKinds), 4, kUnlimited,
                                     ports_free ? Links::free : Links::ports)),
        costs(graph, machine) {}
  static test::RandomGraphOptions shape(std::uint64_t seed) {
    test::RandomGraphOptions options;
    options.nodes = 20 + static_cast<std::int64_t>(seed % 60);
    options.window = seed % 4 == 0 ? 5 : 0;
    options.zero_comp = seed % 2 == 0 ? 10 : 50;
    options.outputs = seed % 3 == 0;
    options.devices = 4;
    return options;
  }
  test::TestRandom random;
  Graph graph;
  Machine machine;
  CostModel costs;
};

TEST(Eil, ThePlanIsTheEmulatedFifoRun) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const RandomPlan drawn(seed);
    for (const bool lazy : {false, true}) {
      ListOptions options;
      options.lazy_sources = lazy;
      options.decide_first = seed % 3 == 0 ? DecideFirst::greater_bottom_level : DecideFirst::lower_file_id;
      options.queue_estimate = seed % 2 == 0 ? QueueEstimate::plan : QueueEstimate::work;
      options.co_inputs = seed % 7 == 0 ? kOne : 0;
      options.comm_weight = seed % 5 == 0 ? 1'500'000 : kOne;
      options.reserve = seed % 4 < 2 ? kOne : 0;
      options.heir_through = seed % 8 == 0 ? kOne : ListOptions{}.heir_through;
      const Constructed plan = eil(drawn.costs, options);
      Emulator emulator(drawn.costs);
      EXPECT_EQ(emulator.run(plan.device, Policy::fifo).start, plan.start) << "seed " << seed << " lazy " << lazy;
      EXPECT_EQ(emulator.run(plan.device, Policy::priority, plan.priority).start, plan.start) << "seed " << seed << " lazy " << lazy;
    }
  }
}

// What is foreseen comes true when every node has its device beforehand: the plan is the emulated run, ports included.
TEST(Eil, AForeseenPlanIsTheEmulatedRunWithPorts) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const RandomPlan drawn(seed, false);
    ListOptions options;
    options.ports = true;
    options.reserve = kOne;
    const std::vector<DeviceId> device = eil(drawn.costs, options).device;
    options.given = device;
    options.foreseen = device;
    const Constructed plan = eil(drawn.costs, options);
    ASSERT_EQ(plan.device, device);
    Emulator emulator(drawn.costs);
    EXPECT_EQ(emulator.run(plan.device, Policy::fifo).start, plan.start) << "seed " << seed;
  }
}

TEST(Eil, DispatchByBottomLevelIsTheEmulatedPriorityRun) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const RandomPlan drawn(seed);
    ListOptions options;
    options.dispatch = Dispatch::bottom_level;
    options.reserve = seed % 2 == 0 ? kOne : 0;
    const Constructed plan = eil(drawn.costs, options);
    Emulator emulator(drawn.costs);
    EXPECT_EQ(emulator.run(plan.device, Policy::priority, plan.priority).start, plan.start) << "seed " << seed;
  }
}

}  // namespace
}  // namespace pardnn
