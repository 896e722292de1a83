#include "construct/heft.hpp"

#include <gtest/gtest.h>

#include "construct/plan_checks.hpp"

namespace pardnn {
namespace {

using test::GraphBuilder;
using test::HandPlan;

ListOptions heft_options() {
  ListOptions options;
  options.method = ListMethod::heft;
  return options;
}

//  A(2) --10--> B(8)      K = 2, 1 ns a byte, no latency.
//   `---3---> C(8)        Bottom levels: A 2 + max(10 + 8, 3 + 8) = 20, B 8, C 8, D 3.
//  D(3)
// A on 0 in [0, 2). B: device 0 in [2, 10), device 1 from 12: 0. C: device 0 from 10, device 1 from 5: 1, [5, 13).
// D: device 0 from 10, device 1 in the gap before C, [0, 3).
TEST(Heft, InsertsIntoTheFirstGap) {
  const GraphBuilder graph = GraphBuilder().node("A", 2).node("B", 8).node("C", 8).node("D", 3).edge("A", "B", 10).edge("A", "C", 3);
  const HandPlan plan(graph, test::byte_per_ns(2), heft_options());
  EXPECT_EQ(plan.starts("A"), 0);
  EXPECT_EQ(plan.starts("B"), 2);
  EXPECT_EQ(plan.starts("C"), 5);
  EXPECT_EQ(plan.starts("D"), 0);
  EXPECT_EQ(plan.on("A"), 0);
  EXPECT_EQ(plan.on("B"), 0);
  EXPECT_EQ(plan.on("C"), 1);
  EXPECT_EQ(plan.on("D"), 1);
  EXPECT_EQ(plan.plan.makespan, 13);
  // By (start, finish): A (0, 2), D (0, 3), B, C.
  EXPECT_EQ(plan.rank("A"), 0);
  EXPECT_EQ(plan.rank("D"), 1);
  EXPECT_EQ(plan.rank("B"), 2);
  EXPECT_EQ(plan.rank("C"), 3);
}

// On a machine whose device 1 is twice as fast, the lone node of 10 ns goes there.
TEST(Heft, TakesTheDeviceThatFinishesFirst) {
  Machine machine = test::byte_per_ns(2);
  machine.devices[1].speed = 2 * kOne;
  const GraphBuilder graph = GraphBuilder().node("A", 10);
  const HandPlan plan(graph, machine, heft_options());
  EXPECT_EQ(plan.on("A"), 1);
  EXPECT_EQ(plan.plan.makespan, 5);
}

// B precedes A in the file, all costs are zero, so both bottom levels are 0: A still goes first.
TEST(Heft, StaysTopologicalWithoutCosts) {
  const GraphBuilder graph = GraphBuilder().node("B", 0).node("A", 0).edge("A", "B", 0);
  const HandPlan plan(graph, test::byte_per_ns(2), heft_options());
  EXPECT_LT(plan.rank("A"), plan.rank("B"));
}

// Two weights of 100 bytes, each used by an operation of 50. Planned first, both weights land on device 0 (they take no time), so one operation
// waits: 100. Following their consumers, the second pair runs on device 1: 50.
TEST(Heft, LazySourcesFollowTheirConsumers) {
  const GraphBuilder graph = GraphBuilder()
                                 .node("W0", 0).node("W1", 0).node("X0", 50).node("X1", 50)
                                 .edge("W0", "X0", 100).edge("W1", "X1", 100);
  ListOptions options = heft_options();
  EXPECT_EQ(HandPlan(graph, test::byte_per_ns(2), options).plan.makespan, 100);
  options.lazy_sources = true;
  const HandPlan lazy(graph, test::byte_per_ns(2), options);
  EXPECT_EQ(lazy.plan.makespan, 50);
  EXPECT_EQ(lazy.on("W0"), lazy.on("X0"));
  EXPECT_EQ(lazy.on("W1"), lazy.on("X1"));
  EXPECT_NE(lazy.on("X0"), lazy.on("X1"));
}

// X1 alone would run on device 1, but it shares a group with X0.
TEST(Heft, AUnitFollowsItsFirstNode) {
  const GraphBuilder graph = GraphBuilder().node("X0", 5).node("X1", 5).colocate({"X0", "X1"});
  const HandPlan plan(graph, test::byte_per_ns(2), heft_options());
  EXPECT_EQ(plan.on("X0"), plan.on("X1"));
  EXPECT_EQ(plan.plan.makespan, 10);
}

TEST(Heft, GivenBottomLevelsChangeTheOrder) {
  const GraphBuilder graph = GraphBuilder().node("A", 3).node("B", 5);
  EXPECT_EQ(HandPlan(graph, test::byte_per_ns(1), heft_options()).starts("A"), 5);
  ListOptions options = heft_options();
  const std::vector<Nanoseconds> levels{9, 5};
  options.bottom_levels = levels;
  EXPECT_EQ(HandPlan(graph, test::byte_per_ns(1), options).starts("A"), 0);
}

TEST(Heft, EmptyGraph) {
  const HandPlan plan(GraphBuilder(), test::byte_per_ns(2), heft_options());
  EXPECT_TRUE(plan.plan.device.empty());
  EXPECT_EQ(plan.plan.makespan, 0);
}

}  // namespace
}  // namespace pardnn
