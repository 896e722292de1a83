#include "repair/frozen_search.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/tight_case.hpp"

namespace pardnn {
namespace {

/// Two devices of 20; seven residuals whose sizes only go together in one way: 9 + 6 + 5 and 8 + 7 + 3 + 2.
struct SevenResiduals {
  SevenResiduals() : costs(graph, machine), judge(costs, Policy::fifo), parts(graph, {}), frozen(costs) {
    judge.score(device);
    frozen.freeze(judge, device);
  }
  static GraphData data() {
    GraphData data;
    data.indptr.assign(8, 0);
    data.comp.assign(7, 1);
    data.mem = {9, 8, 7, 6, 5, 3, 2};
    data.kind.assign(7, 1);
    return data;
  }
  static Machine two_devices() {
    Machine two = homogeneous_machine(2, 20);
    two.headroom = 0;
    return two;
  }
  Graph graph{data()};
  Machine machine = two_devices();
  CostModel costs;
  Judge judge;
  std::vector<DeviceId> device = std::vector<DeviceId>(7, 0);
  MoveParts parts;
  FrozenRun frozen;
};

TEST(SearchFrozen, FindsTheOnlyWayToDivide) {
  SevenResiduals c;
  const std::vector<Move> moves = search_frozen(c.judge, c.parts, c.frozen, 100'000, 1);
  std::vector<DeviceId> device = c.device;
  for (const Move& move : moves) {
    ASSERT_EQ(device[c.graph.unit_nodes(move.part).front()], move.from);
    device[c.graph.unit_nodes(move.part).front()] = move.to;
  }
  EXPECT_TRUE(c.judge.score(device).feasible());
}

TEST(SearchFrozen, DoesNothingWhereEverythingFitsOrNoVisitsAreLeft) {
  SevenResiduals c;
  EXPECT_TRUE(search_frozen(c.judge, c.parts, c.frozen, 0, 1).size() <= 1);
  c.device = {0, 1, 1, 0, 0, 1, 1};
  c.judge.score(c.device);
  c.frozen.freeze(c.judge, c.device);
  EXPECT_EQ(c.frozen.overflow(), 0);
  EXPECT_TRUE(search_frozen(c.judge, c.parts, c.frozen, 100'000, 1).empty());
}

/// The moves, done one after another from the start, lower the estimate; the same seed gives the same moves.
TEST(SearchFrozen, ReturnsMovesThatLowerTheEstimate) {
  int lowered = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const test::TightCase tight(seed, 12);
    const Graph graph(tight.data);
    const CostModel costs(graph, tight.machine);
    Judge judge(costs, tight.policy);
    const std::vector<DeviceId> device = graph.to_internal(std::span<const DeviceId>(tight.device));
    if (!judge.memory_matters()) continue;
    judge.score(device);
    const MoveParts parts(graph, {});
    FrozenRun frozen(costs), again(costs);
    frozen.freeze(judge, device);
    again.freeze(judge, device);
    const Bytes given = frozen.overflow();
    const std::vector<Move> moves = search_frozen(judge, parts, frozen, 20'000, seed);
    std::vector<NodeId> nodes;
    for (const Move& move : moves) {
      parts.nodes_on(move.part, again.device(), move.from, nodes);
      ASSERT_FALSE(nodes.empty());
      again.move(nodes, move.to);
    }
    if (!moves.empty()) {
      ASSERT_LT(again.overflow(), given);
      ++lowered;
    }
    for (NodeId v = 0; v < graph.num_nodes(); ++v) {
      ASSERT_TRUE(graph.fixed(v) == kNoDevice || again.device()[v] == device[v]);
    }
    frozen.freeze(judge, device);
    const std::vector<Move> repeated = search_frozen(judge, parts, frozen, 20'000, seed);
    ASSERT_EQ(repeated.size(), moves.size());
    for (std::size_t i = 0; i < moves.size(); ++i) ASSERT_EQ(repeated[i].part, moves[i].part);
  }
  EXPECT_GT(lowered, 100);
}

}  // namespace
}  // namespace pardnn
