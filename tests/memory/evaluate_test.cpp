#include "memory/evaluate.hpp"

#include <gtest/gtest.h>

#include <span>
#include <string>

#include "pardnn/emulate.hpp"
#include "support/oracle.hpp"
#include "support/random_machines.hpp"

namespace pardnn {
namespace {

Placement internal_placement(const Graph& graph, const test::RandomCase& drawn) {
  Placement placement;
  placement.device = graph.to_internal(std::span<const DeviceId>(drawn.device));
  if (!drawn.priority.empty()) placement.priority = graph.to_internal(std::span<const std::int64_t>(drawn.priority));
  return placement;
}

void expect_same(const Evaluation& evaluation, const test::OracleVerdict& expected, const Machine& machine) {
  EXPECT_EQ(evaluation.makespan, expected.run.makespan);
  EXPECT_EQ(evaluation.lower_bound, expected.lower_bound);
  EXPECT_GE(evaluation.best_bound, evaluation.lower_bound);
  EXPECT_EQ(evaluation.broken, expected.broken);
  EXPECT_EQ(evaluation.feasible, expected.feasible);
  EXPECT_EQ(evaluation.cut_edges, expected.cut_edges);
  EXPECT_EQ(evaluation.cut_bytes, expected.cut_bytes);
  ASSERT_EQ(evaluation.devices.size(), machine.devices.size());
  Bytes overflow = 0;
  for (DeviceId d = 0; d < machine.num_devices(); ++d) {
    const DeviceReport& report = evaluation.devices[d];
    EXPECT_EQ(report.name, machine.devices[d].name);
    EXPECT_EQ(report.capacity, machine.devices[d].capacity);
    EXPECT_EQ(report.usable, expected.usable[d]);
    EXPECT_EQ(report.busy, expected.busy[d]);
    EXPECT_EQ(report.nodes, expected.nodes[d]);
    EXPECT_EQ(report.parameter_free, expected.parameter_free[d]);
    if (!expected.broken.empty()) continue;  // peaks mean nothing
    EXPECT_EQ(report.peak, expected.peak[d]) << "device " << d;
    EXPECT_EQ(report.overflow, expected.overflow[d]) << "device " << d;
    overflow += expected.overflow[d];
  }
  if (expected.broken.empty()) {
    EXPECT_EQ(evaluation.total_overflow(), overflow);
  }
}

TEST(Evaluate, EqualsTheOracleOnRandomCases) {
  int feasible = 0, overflowing = 0, broken = 0;
  for (std::uint64_t seed = 0; seed < 2500; ++seed) {
    SCOPED_TRACE(seed);
    const test::RandomCase drawn = test::random_case(seed);
    const test::OracleVerdict expected =
        test::oracle_judge(drawn.data, drawn.machine, drawn.device, drawn.policy, drawn.priority);
    const Graph graph(drawn.data);
    Schedule schedule;
    const Evaluation evaluation = evaluate(graph, drawn.machine, internal_placement(graph, drawn), drawn.policy, &schedule);
    expect_same(evaluation, expected, drawn.machine);
    EXPECT_EQ(graph.to_file_order(std::span<const Nanoseconds>(schedule.start)), expected.run.start);
    EXPECT_EQ(lower_bound(graph, drawn.machine), expected.lower_bound);
    EXPECT_LE(evaluation.lower_bound, evaluation.makespan);
    ++(expected.feasible ? feasible : expected.broken.empty() ? overflowing : broken);
    if (HasFailure()) break;
  }
  EXPECT_GT(feasible, 100);
  EXPECT_GT(overflowing, 100);
  EXPECT_GT(broken, 100);
}

// a and b share a group, c is a view of a, d is pinned to device 1: one placement for each rule, and one for all.
TEST(Evaluate, NamesTheRulesThatAPlacementBreaks) {
  test::GraphBuilder g;
  g.node("a", 1).node("b", 1).node("c", 1).node("d", 1).colocate({"a", "b"}).alias("c", "a").pin("d", 1);
  const Graph graph(g.data());
  const auto broken = [&](std::vector<DeviceId> device) {
    return broken_rules(graph, graph.to_internal(std::span<const DeviceId>(device)));
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(broken({0, 0, 0, 1}), Names{});
  EXPECT_EQ(broken({0, 1, 0, 1}), Names{"colocation"});
  EXPECT_EQ(broken({0, 0, 1, 1}), Names{"alias"});
  EXPECT_EQ(broken({1, 1, 1, 0}), Names{"fixed"});
  EXPECT_EQ(broken({0, 1, 1, 0}), (Names{"colocation", "alias", "fixed"}));
}

// One residual of 90 bytes: usable is floor(capacity * 0.9). 100 bytes just fit, 99 are one byte short.
TEST(Evaluate, MemoryExactlyFullAndOneByteShort) {
  test::GraphBuilder g;
  g.node("w", 1, 90).kind("w", NodeKind::residual);
  const Graph graph(g.data());
  const Evaluation full = evaluate(graph, homogeneous_machine(1, 100), {{0}, {}}, Policy::fifo);
  EXPECT_TRUE(full.feasible);
  EXPECT_EQ(full.devices[0].usable, 90);
  EXPECT_EQ(full.greatest_peak(), 90);
  const Evaluation shorter = evaluate(graph, homogeneous_machine(1, 99), {{0}, {}}, Policy::fifo);
  EXPECT_FALSE(shorter.feasible);
  EXPECT_EQ(shorter.devices[0].usable, 89);
  EXPECT_EQ(shorter.devices[0].overflow, 1);
  EXPECT_EQ(shorter.total_overflow(), 1);
  EXPECT_TRUE(shorter.broken.empty());
}

// Chain of 6 + 4 ns beside 2 ns; speeds 2 and 0.5: path 3 + 2 = 5 on the fast one, work ceil(12 / 2.5) = 5.
// With a second 9 ns source the work ceil(21 / 2.5) = 9 wins.
TEST(Evaluate, LowerBoundIsPathOrWork) {
  Machine machine = homogeneous_machine(2);
  machine.devices[0].speed = 2'000'000;
  machine.devices[1].speed = 500'000;
  test::GraphBuilder g;
  g.node("a", 6).node("b", 4).node("c", 2).edge("a", "b", 1'000);
  EXPECT_EQ(lower_bound(Graph(g.data()), machine), 5);
  g.node("d", 9);
  EXPECT_EQ(lower_bound(Graph(g.data()), machine), 9);
  EXPECT_EQ(lower_bound(Graph(), machine), 0);
}

// Edges between devices are counted after parallel ones are merged; control edges count, without bytes.
TEST(Evaluate, CutCountsMergedEdges) {
  test::GraphBuilder g;
  g.node("a", 1).node("b", 1).node("c", 1);
  g.edge("a", "b", 3).edge("a", "b", 4).edge("a", "c", 0).edge("b", "c", 5);
  const Graph graph(g.data());
  const Evaluation evaluation = evaluate(graph, homogeneous_machine(2), {{0, 1, 1}, {}}, Policy::fifo);
  EXPECT_EQ(evaluation.cut_edges, 2);
  EXPECT_EQ(evaluation.cut_bytes, 7);
}

}  // namespace
}  // namespace pardnn
