#include "mapping/level_index.hpp"

#include <gtest/gtest.h>

#include "support/random_graphs.hpp"

namespace pardnn {
namespace {

/// Compares with plain counting at every level, one below and one above.
void expect_right(const Graph& graph, const WeightedLevels& levels) {
  const LevelIndex index(graph, levels);
  ASSERT_EQ(index.size(), graph.num_nodes());
  const auto count_before = [&](Nanoseconds time) {
    std::int64_t count = 0;
    for (const Nanoseconds top : levels.top) count += top < time ? 1 : 0;
    return count;
  };
  Nanoseconds length = 0;
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    EXPECT_EQ(index.node(index.position(v)), v);
    EXPECT_EQ(index.top(v), levels.top[v]);
    for (const Nanoseconds time : {levels.top[v] - 1, levels.top[v], levels.top[v] + 1}) {
      EXPECT_EQ(index.nodes_before(time), count_before(time)) << time;
    }
    length = std::max(length, levels.weighted(v));
  }
  for (std::int64_t i = 0; i + 1 < index.size(); ++i) EXPECT_LE(index.top(index.node(i)), index.top(index.node(i + 1)));
  EXPECT_EQ(index.length(), length);
  EXPECT_EQ(index.nodes_before(kSumLimit), graph.num_nodes());
}

TEST(LevelIndex, RandomGraphsAgreeWithCounting) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const Graph graph(test::random_graph_data(seed, {.nodes = static_cast<std::int64_t>(seed), .max_comp = seed % 2 == 0 ? 2 : 100'000}));
    const Machine machine = homogeneous_machine(3);
    expect_right(graph, weighted_levels(CostModel(graph, machine)));
  }
}

TEST(LevelIndex, UnevenLevelsAndEqualLevels) {
  const Graph graph(test::star(6));
  WeightedLevels levels{.top = {0, 1, 1, kSumLimit / 2, 3, kSumLimit / 2 - 1, 1}, .bottom = std::vector<Nanoseconds>(7, 0)};
  expect_right(graph, levels);
  levels.top.assign(7, 0);
  expect_right(graph, levels);
}

TEST(LevelIndex, RangesAreHalfOpen) {
  const Graph graph(test::chain(4, 10, 0));
  const Machine machine = homogeneous_machine(1);
  const LevelIndex index(graph, weighted_levels(CostModel(graph, machine)));  // top levels 0 10 20 30
  const auto size = [&](Nanoseconds from, Nanoseconds to) {
    const LevelRange range = index.range(from, to);
    return range.to - range.from;
  };
  EXPECT_EQ(size(10, 30), 2);
  EXPECT_EQ(size(10, 31), 3);
  EXPECT_EQ(size(11, 20), 0);
  EXPECT_EQ(size(30, 10), 0);
  EXPECT_EQ(size(0, 40), 4);
}

}  // namespace
}  // namespace pardnn
