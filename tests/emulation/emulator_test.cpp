#include "emulation/emulator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "pardnn/error.hpp"
#include "support/oracle.hpp"
#include "support/random_graphs.hpp"
#include "support/random_machines.hpp"

namespace pardnn {
namespace {

using test::GraphBuilder;

/// K devices, 1 byte takes 1 ns, latency as given.
Machine byte_per_ns(DeviceId devices, Nanoseconds latency, Links links = Links::free) {
  Machine machine = homogeneous_machine(devices, kUnlimited, 1'000'000'000, latency);
  machine.links = links;
  return machine;
}

/// One run of a hand-made graph, asked by name.
struct HandRun {
  HandRun(const GraphBuilder& built, const Machine& machine, const std::vector<DeviceId>& file_device, Policy policy,
          const std::vector<std::int64_t>& file_priority = {})
      : builder(built), graph(built.data()) {
    Placement placement;
    placement.device = graph.to_internal(std::span(file_device));
    if (!file_priority.empty()) placement.priority = graph.to_internal(std::span(file_priority));
    const Schedule schedule = emulate(graph, machine, placement, policy);
    start = graph.to_file_order(std::span<const Nanoseconds>(schedule.start));
    finish = graph.to_file_order(std::span<const Nanoseconds>(schedule.finish));
    makespan = schedule.makespan;
  }
  Nanoseconds starts(const std::string& name) const { return start[builder.id(name)]; }
  Nanoseconds ends(const std::string& name) const { return finish[builder.id(name)]; }

  const GraphBuilder& builder;
  Graph graph;
  std::vector<Nanoseconds> start, finish;
  Nanoseconds makespan = 0;
};

std::vector<std::int64_t> file_order_of(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::vector<std::int64_t> ids;
  for (const NodeId v : nodes) ids.push_back(graph.file_id(v));
  return ids;
}

/// The case's placement in the graph's numbering.
Placement internal_placement(const Graph& graph, const test::RandomCase& drawn) {
  Placement placement;
  placement.device = graph.to_internal(std::span<const DeviceId>(drawn.device));
  if (!drawn.priority.empty()) placement.priority = graph.to_internal(std::span<const std::int64_t>(drawn.priority));
  return placement;
}

// Two sources end at the same time and feed two nodes each of which is ready at 5; the device takes the lower file id
// first, whatever the graph's own numbering.
//
//   a(5) --0--> y(3)        file ids: a 0, b 1, x 2, y 3; x depends on b, y on a; a and b on device 0 would serialize,
//   b(5) --0--> x(4)        so a on 1, b on 2, x and y on 0; latency 0.
TEST(Emulator, FifoTiesGoToTheLowerFileId) {
  GraphBuilder b;
  b.node("a", 5).node("b", 5).node("x", 4).node("y", 3).edge("a", "y", 0).edge("b", "x", 0);
  const HandRun run(b, byte_per_ns(3, 0), {1, 2, 0, 0}, Policy::fifo);
  EXPECT_EQ(run.starts("x"), 5);
  EXPECT_EQ(run.starts("y"), 9);
  EXPECT_EQ(run.makespan, 12);
}

// File ids against the topological order: the sink is node 0. The tie between p (file id 2, depth 1) and q (file id 1, depth 0
// would have come first by depth) is broken by file id alone.
//
//   r(2) --0--> p(3) \                   file ids: s 0, p 1, q 2, r 3; p ready at 2 (same device), q released by
//   w(2) --0--> q(3) --> s(1)            w(2) on device 1 at 2 as well: p first.
TEST(Emulator, FifoTiesUseFileIdsNotDepths) {
  GraphBuilder b;
  b.node("s", 1).node("p", 3).node("q", 3).node("r", 2).node("w", 2);
  b.edge("r", "p", 0).edge("w", "q", 0).edge("p", "s", 0).edge("q", "s", 0);
  const HandRun run(b, byte_per_ns(2, 0), {0, 0, 0, 0, 1}, Policy::fifo);
  EXPECT_EQ(run.starts("p"), 2);
  EXPECT_EQ(run.starts("q"), 5);
  EXPECT_EQ(run.starts("s"), 8);
}

// Fifo looks at ready times, not at ids: late(0) is ready at 4, early(1) at 3, while busy runs until 10.
//
//   busy(10)   c(4) --0--> late(1)     busy, late, early on device 0; c on 1, d on 2; latency 0
//              d(3) --0--> early(1)
TEST(Emulator, FifoTakesTheEarliestReadyNode) {
  GraphBuilder b;
  b.node("late", 1).node("early", 1).node("busy", 10).node("c", 4).node("d", 3).edge("c", "late", 0).edge("d", "early", 0);
  const HandRun run(b, byte_per_ns(3, 0), {0, 0, 0, 1, 2}, Policy::fifo);
  EXPECT_EQ(run.starts("busy"), 0);
  EXPECT_EQ(run.starts("early"), 10);
  EXPECT_EQ(run.starts("late"), 11);
}

// Priority dispatch: without given priorities the longer tail goes first, with given ones the greater number.
//
//   a(2)                   one device; bottom levels: a 2, b 1 + 5 = 6, c 5.
//   b(1) --> c(5)
TEST(Emulator, PriorityRunsTheGreaterFirst) {
  GraphBuilder g;
  g.node("a", 2).node("b", 1).node("c", 5).edge("b", "c", 7);
  const HandRun by_level(g, byte_per_ns(1, 0), {0, 0, 0}, Policy::priority);
  EXPECT_EQ(by_level.starts("b"), 0);
  EXPECT_EQ(by_level.starts("c"), 1);
  EXPECT_EQ(by_level.starts("a"), 6);
  const HandRun given(g, byte_per_ns(1, 0), {0, 0, 0}, Policy::priority, {9, 1, 5});
  EXPECT_EQ(given.starts("a"), 0);
  EXPECT_EQ(given.starts("b"), 2);
  EXPECT_EQ(given.starts("c"), 3);
  const HandRun equal(g, byte_per_ns(1, 0), {0, 0, 0}, Policy::priority, {-4, -4, -4});
  EXPECT_EQ(equal.starts("a"), 0);
  EXPECT_EQ(equal.starts("b"), 2);
}

// Any 64-bit integer is a priority; the least has no negative of its own.
TEST(Emulator, ExtremePrioritiesAreOrdered) {
  GraphBuilder g;
  g.node("a", 2).node("b", 1).node("c", 5).node("d", 7);
  const HandRun run(g, byte_per_ns(1, 0), {0, 0, 0, 0}, Policy::priority, {INT64_MIN, INT64_MAX, INT64_MIN + 1, INT64_MIN});
  EXPECT_EQ(run.starts("b"), 0);
  EXPECT_EQ(run.starts("c"), 1);
  EXPECT_EQ(run.starts("a"), 6);
  EXPECT_EQ(run.starts("d"), 8);
}

// The default priority counts the communication of the placed graph: b's tail is 1 + (3 + 4) + 1 = 9 as its edge is
// cut, a's is 8.
//
//   a(8)                   a, b on device 0, c on device 1; latency 3, 4 bytes take 4.
//   b(1) --4B--> c(1)
TEST(Emulator, DefaultPriorityCountsCutEdges) {
  GraphBuilder g;
  g.node("a", 8).node("b", 1).node("c", 1).edge("b", "c", 4);
  const HandRun cut(g, byte_per_ns(2, 3), {0, 0, 1}, Policy::priority);
  EXPECT_EQ(cut.starts("b"), 0);
  EXPECT_EQ(cut.starts("a"), 1);
  EXPECT_EQ(cut.starts("c"), 8);
  const HandRun whole(g, byte_per_ns(2, 3), {0, 0, 0}, Policy::priority);
  EXPECT_EQ(whole.starts("a"), 0);
}

// A lower priority that has arrived runs before a higher one that is still on its way: no waiting, no preemption.
//
//   a(1) --5B--> hi(1)     a on device 1, hi and lo on device 0: hi arrives at 1 + 2 + 5 = 8, lo runs over [0, 20).
//   lo(20)
TEST(Emulator, PriorityNeitherWaitsNorPreempts) {
  GraphBuilder g;
  g.node("a", 1).node("hi", 1).node("lo", 20).edge("a", "hi", 5);
  const HandRun run(g, byte_per_ns(2, 2), {1, 0, 0}, Policy::priority, {0, 100, 1});
  EXPECT_EQ(run.starts("lo"), 0);
  EXPECT_EQ(run.starts("hi"), 20);
}

// Ports: the two outputs of a go through one port, in order of (device, output); latency after the port.
//
//        out 0, 10B  -> x (device 1)    port: out 0 to 1 over [5, 15), out 1 to 1 over [15, 19), out 1 to 2 over [19, 23)
//   a(5) out 1, 4B   -> y (device 1)    latency 2: x ready 17, y ready 21, z ready 25; free: 17, 11, 11.
//        out 1, 4B   -> z (device 2)
TEST(Emulator, PortsSerializeTheOutputsOfANode) {
  GraphBuilder g;
  g.node("a", 5).node("x", 1).node("y", 1).node("z", 1);
  g.edge("a", "x", 10, 0).edge("a", "y", 4, 1).edge("a", "z", 4, 1);
  const HandRun ports(g, byte_per_ns(3, 2, Links::ports), {0, 1, 1, 2}, Policy::fifo);
  EXPECT_EQ(ports.starts("x"), 17);
  EXPECT_EQ(ports.starts("y"), 21);
  EXPECT_EQ(ports.starts("z"), 25);
  const HandRun free(g, byte_per_ns(3, 2), {0, 1, 1, 2}, Policy::fifo);
  EXPECT_EQ(free.starts("y"), 11);
  EXPECT_EQ(free.starts("x"), 17);
  EXPECT_EQ(free.starts("z"), 11);
}

// One output that two nodes of a device need is sent once, as large as its greatest edge. The next sender waits.
//
//   a(1) --3B--> x, --8B--> y (device 1)      port of 0: a over [1, 9), b over [9, 14); latency 0: x and y ready at 9
//   b(1) --5B--> z (device 1)                 (x first by id), z ready at 14.
TEST(Emulator, PortsSendAnOutputOncePerDevice) {
  GraphBuilder g;
  g.node("a", 1).node("b", 1).node("x", 1).node("y", 1).node("z", 1);
  g.edge("a", "x", 3).edge("a", "y", 8).edge("b", "z", 5);
  const HandRun run(g, byte_per_ns(2, 0, Links::ports), {0, 0, 1, 1, 1}, Policy::fifo);
  EXPECT_EQ(run.starts("x"), 9);
  EXPECT_EQ(run.starts("y"), 10);
  EXPECT_EQ(run.starts("z"), 14);
}

// A control edge costs the latency alone and does not wait for a busy port.
//
//   a(1) --20B--> x     both to device 1, latency 3: port of 0 is busy over [1, 21); c is ready at 2 + 3.
//   b(1) --0B--> c
TEST(Emulator, ControlEdgeCostsTheLatencyAlone) {
  GraphBuilder g;
  g.node("a", 1).node("b", 1).node("x", 1).node("c", 1).edge("a", "x", 20).edge("b", "c", 0);
  for (const Links links : {Links::free, Links::ports}) {
    const HandRun run(g, byte_per_ns(2, 3, links), {0, 0, 1, 1}, Policy::fifo);
    EXPECT_EQ(run.starts("c"), 5);
    EXPECT_EQ(run.starts("x"), 24);
  }
}

// Nodes of zero duration complete in the next round at the same time, so what they release starts at that time too, but
// a node that was ready in the earlier round goes first.
//
//   z(0) --> a(2), one device; file ids: a 0, z 1, b 2. Sources z and b enter at 0: z starts in round 1, and ends in
//   b(3)     round 2, where a (id 0, ready 0) enters and beats b (id 2, ready 0).
TEST(Emulator, ZeroDurationEndsInTheNextRound) {
  GraphBuilder g;
  g.node("a", 2).node("z", 0).node("b", 3).edge("z", "a", 1);
  const HandRun run(g, byte_per_ns(1, 0), {0, 0, 0}, Policy::fifo);
  EXPECT_EQ(run.ends("z"), 0);
  EXPECT_EQ(run.starts("a"), 0);
  EXPECT_EQ(run.starts("b"), 2);
}

// Device speeds round up: 7 ns at speed 1.5 take ceil(4.67) = 5, at 0.5 take 14.
TEST(Emulator, DurationsRoundUp) {
  GraphBuilder g;
  g.node("a", 7).node("b", 7);
  Machine machine = byte_per_ns(2, 0);
  machine.devices[0].speed = 1'500'000;
  machine.devices[1].speed = 500'000;
  const HandRun run(g, machine, {0, 1}, Policy::fifo);
  EXPECT_EQ(run.ends("a"), 5);
  EXPECT_EQ(run.ends("b"), 14);
}

TEST(Emulator, EmptyGraphAndOneNode) {
  const Graph none;
  const Machine machine = byte_per_ns(2, 1);
  EXPECT_EQ(emulate(none, machine, {}, Policy::fifo).makespan, 0);
  const Graph one(test::chain(1, 9));
  EXPECT_EQ(emulate(one, machine, {{1}, {}}, Policy::priority).makespan, 9);
}

TEST(Emulator, RefusesPlacementsOfAnotherShape) {
  const Graph graph(test::chain(3));
  const Machine machine = byte_per_ns(2, 1);
  EXPECT_THROW(emulate(graph, machine, {{0, 1}, {}}, Policy::fifo), InputError);
  EXPECT_THROW(emulate(graph, machine, {{0, 1, 2}, {}}, Policy::fifo), InputError);
  EXPECT_THROW(emulate(graph, machine, {{0, -1, 1}, {}}, Policy::fifo), InputError);
  EXPECT_THROW(emulate(graph, machine, {{0, 1, 1}, {1, 2}}, Policy::priority), InputError);
}

TEST(Emulator, EqualsTheOracleOnRandomCases) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    const test::RandomCase drawn = test::random_case(seed);
    const test::OracleRun expected = test::oracle_run(drawn.data, drawn.machine, drawn.device, drawn.policy, drawn.priority);
    const Graph graph(drawn.data);
    const Schedule schedule = emulate(graph, drawn.machine, internal_placement(graph, drawn), drawn.policy);
    ASSERT_EQ(graph.to_file_order(std::span<const Nanoseconds>(schedule.start)), expected.start);
    ASSERT_EQ(graph.to_file_order(std::span<const Nanoseconds>(schedule.finish)), expected.finish);
    ASSERT_EQ(schedule.makespan, expected.makespan);
    ASSERT_EQ(file_order_of(graph, schedule.start_order), expected.start_order(drawn.device));
  }
}

TEST(Emulator, StartOrderIsTopological) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const test::RandomCase drawn = test::random_case(seed);
    const Graph graph(drawn.data);
    const Schedule schedule = emulate(graph, drawn.machine, internal_placement(graph, drawn), drawn.policy);
    ASSERT_EQ(schedule.start_order.size(), static_cast<std::size_t>(graph.num_nodes()));
    std::vector<std::int64_t> rank(schedule.start_order.size(), -1);
    for (std::size_t i = 0; i < schedule.start_order.size(); ++i) rank[schedule.start_order[i]] = static_cast<std::int64_t>(i);
    EXPECT_EQ(std::count(rank.begin(), rank.end(), -1), 0);
    for (NodeId v = 0; v < graph.num_nodes(); ++v) {
      for (EdgeId e = graph.out_begin(v); e < graph.out_end(v); ++e) EXPECT_LT(rank[v], rank[graph.target(e)]);
    }
  }
}

/// placement-format.md: "`-order` as priority replays any run exactly". Also of a replay itself.
TEST(Emulator, NegatedOrderAsPriorityReplaysTheRun) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    const test::RandomCase drawn = test::random_case(seed);
    const Graph graph(drawn.data);
    Placement placement = internal_placement(graph, drawn);
    const Schedule first = emulate(graph, drawn.machine, placement, drawn.policy);
    placement.priority.assign(static_cast<std::size_t>(graph.num_nodes()), 0);
    for (std::size_t i = 0; i < first.start_order.size(); ++i) placement.priority[first.start_order[i]] = -static_cast<std::int64_t>(i);
    const Schedule again = emulate(graph, drawn.machine, placement, Policy::priority);
    ASSERT_EQ(again.start, first.start);
    ASSERT_EQ(again.finish, first.finish);
    ASSERT_EQ(again.start_order, first.start_order);
  }
}

TEST(Emulator, OneEmulatorRunsManyPlacements) {
  const test::RandomCase drawn = test::random_case(73);
  const Graph graph(drawn.data);
  const CostModel costs(graph, drawn.machine);
  Emulator kept(costs);
  test::TestRandom random(5);
  for (int i = 0; i < 40; ++i) {
    const auto kind = static_cast<test::PlacementKind>(i % test::kPlacementKinds);
    const std::vector<DeviceId> device = test::random_placement(random, drawn.data, kind, drawn.machine.num_devices());
    const Policy policy = i % 2 == 0 ? Policy::fifo : Policy::priority;
    const std::vector<DeviceId> internal = graph.to_internal(std::span(device));
    const Schedule& schedule = kept.run(internal, policy);
    const test::OracleRun expected = test::oracle_run(drawn.data, drawn.machine, device, policy);
    ASSERT_EQ(graph.to_file_order(std::span<const Nanoseconds>(schedule.start)), expected.start);
    ASSERT_EQ(graph.to_file_order(kept.ready()), expected.ready);
  }
}

/// run_within: true exactly when the makespan is within the limit, and the whole schedule then.
TEST(Emulator, GivesUpExactlyAboveTheLimit) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    const test::RandomCase drawn = test::random_case(seed);
    const Graph graph(drawn.data);
    const CostModel costs(graph, drawn.machine);
    Emulator emulator(costs);
    const Placement placement = internal_placement(graph, drawn);
    const Schedule full = emulator.run(placement.device, drawn.policy, placement.priority);
    const std::vector<Nanoseconds> no_tail(static_cast<std::size_t>(graph.num_nodes()), 0);
    EXPECT_TRUE(emulator.run_within(placement.device, drawn.policy, placement.priority, full.makespan, no_tail));
    EXPECT_EQ(emulator.schedule().start, full.start);
    EXPECT_EQ(emulator.schedule().makespan, full.makespan);
    if (full.makespan == 0) continue;
    EXPECT_FALSE(emulator.run_within(placement.device, drawn.policy, placement.priority, full.makespan - 1, {}));
    EXPECT_EQ(emulator.run(placement.device, drawn.policy, placement.priority).start, full.start);
  }
}

}  // namespace
}  // namespace pardnn
