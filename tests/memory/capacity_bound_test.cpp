#include "memory/capacity_bound.hpp"

#include <gtest/gtest.h>

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

/// What is proven is true: no placement of any such case fits, under either policy and in many orders.
TEST(CapacityBound, ProvesNothingFalse) {
  int proven = 0, fitting = 0;
  for (std::uint64_t seed = 0; seed < 3'000; ++seed) {
    SCOPED_TRACE(seed);
    const test::TightCase tight(seed, 6);
    const Graph graph(tight.data);
    if (!proof_that_nothing_fits(graph, tight.machine)) {
      ++fitting;
      continue;
    }
    ++proven;
    const CostModel costs(graph, tight.machine);
    Emulator emulator(costs);
    MemoryTracker tracker(costs);
    test::TestRandom random(seed);
    test::for_each_placement(graph, tight.machine.num_devices(), [&](const std::vector<DeviceId>& device) {
      std::vector<std::int64_t> priority;
      for (NodeId v = 0; v < graph.num_nodes(); ++v) priority.push_back(random.below(4));
      for (const Policy policy : {Policy::fifo, Policy::priority}) {
        const MemoryPeaks& peaks = tracker.track(device, emulator.run(device, policy, priority), emulator.delivered());
        bool fits = true;
        for (DeviceId d = 0; d < costs.num_devices(); ++d) fits = fits && peaks.peak[d] <= tight.machine.usable(d);
        ASSERT_FALSE(fits);
      }
    });
  }
  EXPECT_GT(proven, 300);
  EXPECT_GT(fitting, 300);
}

}  // namespace
}  // namespace pardnn
