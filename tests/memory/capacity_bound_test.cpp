#include "memory/capacity_bound.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <numeric>

#include "memory/evaluate.hpp"
#include "pardnn/emulate.hpp"
#include "support/brute_force.hpp"
#include "support/tight_case.hpp"

namespace pardnn {
namespace {

/// Devices of the given usable bytes.
Machine with_memory(const std::vector<Bytes>& usable) {
  Machine machine = homogeneous_machine(static_cast<DeviceId>(usable.size()), 1, 1'000'000'000, 1);
  machine.headroom = 0;
  for (std::size_t d = 0; d < usable.size(); ++d) machine.devices[d].capacity = usable[d];
  return machine;
}

bool is_proven(const test::GraphBuilder& builder, const std::vector<Bytes>& usable) {
  return proof_that_nothing_fits(Graph(builder.data()), with_memory(usable)).has_value();
}

test::GraphBuilder residuals(const std::vector<Bytes>& sizes) {
  test::GraphBuilder g;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const std::string name = std::to_string(i);
    g.node(name, 1, sizes[i]).kind(name, NodeKind::residual);
  }
  return g;
}

std::string named(char kind, int number) {
  std::string name(1, kind);
  name += std::to_string(number);
  return name;
}

TEST(CapacityBound, AllResidualsAgainstAllMemory) {
  EXPECT_FALSE(is_proven(residuals({5, 5, 5, 5}), {10, 10}));
  EXPECT_TRUE(is_proven(residuals({5, 5, 5, 6}), {10, 10}));
}

TEST(CapacityBound, OneUnitAgainstItsDevice) {
  test::GraphBuilder g = residuals({7, 6});
  EXPECT_FALSE(is_proven(g, {12, 12}));
  g.colocate({"0", "1"});
  EXPECT_TRUE(is_proven(g, {12, 12}));
  EXPECT_FALSE(is_proven(g, {12, 13}));
  g.pin("0", 0);
  EXPECT_TRUE(is_proven(g, {12, 13}));
}

// Row A23: five residuals of 10 on two devices of 12; row A29: 16 of 9 on 16 of 8.
TEST(CapacityBound, UnitsThatCannotShareADevice) {
  EXPECT_TRUE(is_proven(residuals({10, 10, 10}), {15, 15}));
  EXPECT_FALSE(is_proven(residuals({10, 10}), {15, 15}));
  EXPECT_TRUE(is_proven(residuals({10, 10, 10}), {15, 15, 9}));
  EXPECT_TRUE(is_proven(residuals({10, 10, 10, 10, 10}), {12, 12}));
  EXPECT_FALSE(is_proven(residuals(std::vector<Bytes>(16, 9)), std::vector<Bytes>(16, 10)));
  EXPECT_TRUE(is_proven(residuals(std::vector<Bytes>(16, 9)), std::vector<Bytes>(16, 8)));
}

//   a(1, mem 4) --3B--> b(1, mem 5, temp 2): b needs 3 (a's copy; the buffer is 4) + 5 + 2 = 10 wherever a is.
TEST(CapacityBound, OneNodeWhileItRuns) {
  test::GraphBuilder g;
  g.node("a", 1, 4).node("b", 1, 5, 2).edge("a", "b", 3);
  EXPECT_TRUE(is_proven(g, {9, 9}));
  EXPECT_FALSE(is_proven(g, {10, 10}));
}

// A view that runs before its base does not find its buffer: v needs its workspace alone, c what v sent, if apart. A
// view that is reached from its base does.
//
//   v(1) --5B--> c(1), v is a view of a(1, mem 20); a runs whenever.
TEST(CapacityBound, AViewMayRunBeforeItsBase) {
  test::GraphBuilder before;
  before.node("v", 1, 0, 1).node("a", 1, 20).node("c", 1).alias("v", "a").edge("v", "c", 30);
  EXPECT_FALSE(is_proven(before, {20}));
  EXPECT_TRUE(evaluate(Graph(before.data()), with_memory({20}), {{0, 0, 0}, {0, -1, 0}}, Policy::priority).feasible);
  test::GraphBuilder after;
  after.node("a", 1, 20).node("v", 1, 0, 1).alias("v", "a").edge("a", "v", 20);
  EXPECT_TRUE(is_proven(after, {20}));
  EXPECT_FALSE(is_proven(after, {21}));
}

//   a(1, mem 6) --6B--> b(1, mem 6) --6B--> c(1, mem 6), a --6B--> c: 18 while c runs, on two devices of 8 in all.
TEST(CapacityBound, WhatIsLiveWhileANodeRuns) {
  test::GraphBuilder g;
  g.node("a", 1, 6).node("b", 1, 6).node("n", 1).node("c", 1, 1).node("d", 1, 1);
  g.edge("a", "n", 0).edge("b", "n", 0).edge("n", "c", 0).edge("n", "d", 0).edge("a", "c", 6).edge("b", "d", 6);
  EXPECT_TRUE(is_proven(g, {8, 3}));  // 12 while n runs; no node needs more than 7
  EXPECT_FALSE(is_proven(g, {8, 8}));
}

// Five residuals of 4: two devices of 10 have 20 bytes, but hold two each.
TEST(CapacityBound, PiecesThatDoNotDivide) {
  EXPECT_FALSE(is_proven(residuals({4, 4, 4, 4}), {10, 10}));
  EXPECT_TRUE(is_proven(residuals({7, 4, 4, 4}), {10, 10}));
  EXPECT_FALSE(is_proven(residuals({7, 4, 4, 3}), {10, 10}));
}

// Three tables of 4, each with a gradient of 3 that its update reads: two tables and one gradient are 11, whenever the
// updates run. On devices of 11 that leaves room for one residual of 3 in all beside them, on the second device.
//
//   g(1, mem 3) --3B--> u(1), a view of t(residual, mem 4); three times
test::GraphBuilder tables_with_gradients(Bytes other) {
  test::GraphBuilder g;
  for (int i = 0; i < 3; ++i) {
    const std::string table = named('t', i), gradient = named('g', i), update = named('u', i);
    g.node(table, 1, 4).kind(table, NodeKind::residual).node(gradient, 1, 3).node(update, 1);
    g.alias(update, table).edge(gradient, update, 3).edge(table, update, 4);
  }
  if (other > 0) g.node("o", 1, other).kind("o", NodeKind::residual);
  return g;
}

TEST(CapacityBound, ResidualsBesideWhatTheirNodesNeed) {
  EXPECT_TRUE(is_proven(tables_with_gradients(0), {10, 10}));  // each device holds one table
  EXPECT_FALSE(is_proven(tables_with_gradients(0), {11, 11}));
  EXPECT_FALSE(is_proven(tables_with_gradients(4), {11, 11}));
  EXPECT_TRUE(is_proven(tables_with_gradients(5), {11, 11}));  // 3 x 4 + 5 residuals and 2 gradients are 23
}

//   Group {x, y}: x reads a's 5, y reads b's 5, n runs between: their device holds both while n runs.
TEST(CapacityBound, WhatAGroupWaitsForIsOnItsDevice) {
  test::GraphBuilder g;
  g.node("a", 1, 5).node("b", 1, 5).node("n", 1).node("x", 1).node("y", 1).colocate({"x", "y"});
  g.edge("a", "n", 0).edge("b", "n", 0).edge("n", "x", 0).edge("n", "y", 0).edge("a", "x", 5).edge("b", "y", 5);
  EXPECT_TRUE(is_proven(g, {9, 9}));
  EXPECT_FALSE(is_proven(g, {10, 9}));
}

// Residuals pinned to device 0 (8 bytes) beside a node pinned there that needs 5; and a node of 7 that has nowhere to go.
TEST(CapacityBound, PinnedResidualsAndOneNode) {
  test::GraphBuilder g = residuals({8});
  g.pin("0", 0).node("n", 1, 5).pin("n", 0);
  EXPECT_TRUE(is_proven(g, {12, 50}));
  EXPECT_FALSE(is_proven(g, {13, 50}));
  test::GraphBuilder free = residuals({8});
  free.pin("0", 0).node("n", 1, 7);
  EXPECT_TRUE(is_proven(free, {14, 6}));
  EXPECT_FALSE(is_proven(free, {15, 6}));
}

// 10 % headroom: 9 usable bytes need a capacity of 10.
TEST(CapacityBound, NamesTheLeastEqualCapacity) {
  Machine machine = with_memory({5, 5});
  machine.headroom = 100'000;
  const Graph graph(residuals({9, 9}).data());
  const CapacityVerdict verdict = capacity_verdict(graph, machine);
  EXPECT_TRUE(verdict.proof.has_value());
  EXPECT_EQ(verdict.bound.per_device_equal, 10);
  EXPECT_NE(verdict.bound.why.find("residuals"), std::string::npos);
  EXPECT_EQ(capacity_verdict(Graph(), machine).bound.per_device_equal, 0);
  EXPECT_FALSE(capacity_verdict(Graph(), machine).proof.has_value());
  EXPECT_EQ(capacity_verdict(Graph(residuals({7, 4, 4, 4}).data()), with_memory({1, 1})).bound.per_device_equal, 11);
}

/// Calls visit(peaks) for every placement under fifo and under priorities: all orders of up to 5 nodes, else some.
template <typename Visit>
void for_each_run(const test::TightCase& tight, const Graph& graph, std::uint64_t seed, Visit&& visit) {
  const CostModel costs(graph, tight.machine);
  Emulator emulator(costs);
  MemoryTracker tracker(costs);
  test::TestRandom random(seed);
  std::vector<std::int64_t> priority(static_cast<std::size_t>(graph.num_nodes()));
  test::for_each_placement(graph, tight.machine.num_devices(), [&](const std::vector<DeviceId>& device) {
    visit(tracker.track(device, emulator.run(device, Policy::fifo, {}), emulator.delivered()));
    std::iota(priority.begin(), priority.end(), 0);
    if (graph.num_nodes() <= 5) {
      do {
        visit(tracker.track(device, emulator.run(device, Policy::priority, priority), emulator.delivered()));
      } while (std::next_permutation(priority.begin(), priority.end()));
    } else {
      for (std::int64_t& p : priority) p = random.below(4);
      visit(tracker.track(device, emulator.run(device, Policy::priority, priority), emulator.delivered()));
    }
  });
}

/// What is proven is true: no placement of any such case fits, under either policy and in many orders.
TEST(CapacityBound, ProvesNothingFalse) {
  int proven = 0, open = 0, impossible = 0;
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    SCOPED_TRACE(seed);
    const test::TightCase tight(seed, seed % 2 == 0 ? 6 : 5);
    const Graph graph(tight.data);
    const bool refuted = proof_that_nothing_fits(graph, tight.machine).has_value();
    bool fits = false;
    for_each_run(tight, graph, seed, [&](const MemoryPeaks& peaks) {
      bool all = true;
      for (DeviceId d = 0; d < tight.machine.num_devices(); ++d) all = all && peaks.peak[d] <= tight.machine.usable(d);
      fits = fits || all;
    });
    ASSERT_FALSE(refuted && fits);
    ++(refuted ? proven : open);
    impossible += fits ? 0 : 1;
  }
  std::cout << proven << " proven of " << impossible << " for which no run that fits was found\n";
  EXPECT_GT(proven, 300);
  EXPECT_GT(open, 300);
  EXPECT_GT(proven * 10, impossible * 8);
}

/// Tables t with gradients g and updates u of any size: g --> u, a view of t. Gradients may wait for one another.
GraphData random_tables(test::TestRandom& random, int tables) {
  test::GraphBuilder g;
  for (int i = 0; i < tables; ++i) {
    const std::string table = named('t', i), gradient = named('g', i), update = named('u', i);
    const Bytes size = 1 + random.below(6), needed = 1 + random.below(5);
    g.node(table, 0, size).kind(table, NodeKind::residual).node(gradient, 1 + random.below(3), needed).node(update, 1 + random.below(2));
    g.alias(update, table).edge(gradient, update, 1 + random.below(needed)).edge(table, update, size);
    if (i > 0 && random.chance(50)) g.edge(named('g', static_cast<int>(random.below(i))), gradient, random.below(2));
  }
  if (random.chance(50)) g.node("o", 1, 1 + random.below(5)).kind("o", NodeKind::residual);
  return g.data();
}

/// Some placement fits, under fifo or in one of a few random orders.
bool some_run_fits(const Graph& graph, const Machine& machine, test::TestRandom& random) {
  const CostModel costs(graph, machine);
  Emulator emulator(costs);
  MemoryTracker tracker(costs);
  bool fits = false;
  std::vector<std::int64_t> priority(static_cast<std::size_t>(graph.num_nodes()));
  const auto look = [&](const std::vector<DeviceId>& device, const Schedule& schedule) {
    const MemoryPeaks& peaks = tracker.track(device, schedule, emulator.delivered());
    bool all = true;
    for (DeviceId d = 0; d < machine.num_devices(); ++d) all = all && peaks.peak[d] <= machine.usable(d);
    fits = fits || all;
  };
  test::for_each_placement(graph, machine.num_devices(), [&](const std::vector<DeviceId>& device) {
    look(device, emulator.run(device, Policy::fifo, {}));
    for (int order = 0; order < 3; ++order) {
      for (std::int64_t& p : priority) p = random.below(9);
      look(device, emulator.run(device, Policy::priority, priority));
    }
  });
  return fits;
}

TEST(CapacityBound, ProvesNothingFalseOfTables) {
  int proven = 0, impossible = 0, possible = 0;
  for (std::uint64_t seed = 0; seed < 1'500; ++seed) {
    SCOPED_TRACE(seed);
    test::TestRandom random(20'000 + seed);
    const Graph graph(random_tables(random, seed % 4 == 0 ? 2 : 3));
    std::vector<Bytes> usable(seed % 3 == 0 ? 3 : 2);
    for (Bytes& bytes : usable) bytes = 6 + random.below(10);
    if (random.chance(50)) std::fill(usable.begin(), usable.end(), usable.front());
    const Machine machine = with_memory(usable);
    const bool refuted = proof_that_nothing_fits(graph, machine).has_value(), fits = some_run_fits(graph, machine, random);
    ASSERT_FALSE(refuted && fits);
    proven += refuted ? 1 : 0;
    ++(fits ? possible : impossible);
  }
  std::cout << proven << " proven of " << impossible << " for which no run that fits was found, " << possible << " fit\n";
  EXPECT_GT(proven, 200);
  EXPECT_GT(proven * 10, impossible * 6);
  EXPECT_GT(possible, 300);
}

/// No run on equal devices stays below the bound, and a capacity just below it is refuted by the proof as well.
TEST(CapacityBound, IsBelowEveryRun) {
  double ratio = 0;
  int cases = 0, reached = 0;
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    SCOPED_TRACE(seed);
    test::TightCase tight(10'000 + seed, seed % 2 == 0 ? 6 : 5);
    tight.machine.headroom = 0;
    const Graph graph(tight.data);
    const Bytes bound = capacity_verdict(graph, tight.machine).bound.per_device_equal;
    Bytes least = kSumLimit;
    for_each_run(tight, graph, seed, [&](const MemoryPeaks& peaks) {
      least = std::min(least, *std::max_element(peaks.peak.begin(), peaks.peak.end()));
    });
    ASSERT_LE(bound, least);
    if (bound > 0) {
      for (Device& device : tight.machine.devices) device.capacity = bound - 1;
      ASSERT_TRUE(proof_that_nothing_fits(graph, tight.machine).has_value());
      for (Device& device : tight.machine.devices) device.capacity = bound;
      ASSERT_FALSE(proof_that_nothing_fits(graph, tight.machine).has_value());
    }
    if (least == 0) continue;
    ++cases;
    reached += bound == least ? 1 : 0;
    ratio += static_cast<double>(bound) / static_cast<double>(least);
  }
  std::cout << cases << " cases, bound reached in " << reached << ", mean bound / least capacity " << ratio / cases << '\n';
  EXPECT_GT(ratio / cases, 0.9);
}

}  // namespace
}  // namespace pardnn
