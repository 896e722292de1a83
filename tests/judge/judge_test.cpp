#include "judge/judge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "support/oracle.hpp"
#include "support/random_machines.hpp"

namespace pardnn {
namespace {

TEST(Score, FeasibleFirstThenMakespanThenPeak) {
  const Score best{0, 10, 50};
  EXPECT_TRUE(best.feasible());
  EXPECT_LT(best, (Score{0, 10, 51}));
  EXPECT_LT((Score{0, 10, 99}), (Score{0, 11, 1}));
  EXPECT_LT((Score{0, 1'000, 99}), (Score{1, 1, 1}));
  EXPECT_LT((Score{1, 1'000, 99}), (Score{2, 1, 1}));
  EXPECT_EQ(best, (Score{0, 10, 50}));
  EXPECT_FALSE(best < best);
  EXPECT_FALSE((Score{1, 10, 50}).feasible());
}

/// A random case whose placement respects units, and what the oracle says of it.
struct JudgedCase {
  explicit JudgedCase(std::uint64_t seed) : drawn(test::random_case(seed)), graph(drawn.data) {
    test::TestRandom random(seed + 1);
    redraw(random);
  }
  void redraw(test::TestRandom& random) {
    drawn.device = test::random_placement(random, drawn.data, test::PlacementKind::respects_units, drawn.machine.num_devices());
    device = graph.to_internal(std::span<const DeviceId>(drawn.device));
    priority.clear();
    if (!drawn.priority.empty()) priority = graph.to_internal(std::span<const std::int64_t>(drawn.priority));
    const test::OracleVerdict verdict =
        test::oracle_judge(drawn.data, drawn.machine, drawn.device, drawn.policy, drawn.priority);
    expected = {0, verdict.run.makespan, 0};
    for (const Bytes peak : verdict.peak) expected.peak = std::max(expected.peak, peak);
    for (const Bytes overflow : verdict.overflow) expected.overflow += overflow;
  }

  test::RandomCase drawn;
  Graph graph;
  std::vector<DeviceId> device;
  std::vector<std::int64_t> priority;
  Score expected;
};

TEST(Judge, EqualsTheOracleOnRandomCases) {
  int free_of_memory = 0;
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    JudgedCase it(seed);
    const CostModel costs(it.graph, it.drawn.machine);
    Judge judge(costs, it.drawn.policy);
    test::TestRandom random(seed);
    for (int again = 0; again < 3; ++again, it.redraw(random)) {
      if (!judge.memory_matters()) {
        ASSERT_EQ(it.expected.overflow, 0);
        it.expected.peak = 0;
        ++free_of_memory;
      }
      ASSERT_EQ(judge.score(it.device, it.priority), it.expected);
      ASSERT_EQ(judge.runs(), again + 1);
    }
  }
  EXPECT_GT(free_of_memory, 50);
  EXPECT_LT(free_of_memory, 1'000);
}

TEST(Judge, ScoresWithinALimitOnly) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    JudgedCase it(seed);
    const CostModel costs(it.graph, it.drawn.machine);
    Judge judge(costs, it.drawn.policy);
    const Score truth = judge.score(it.device, it.priority);
    const auto within = [&](const Score& limit) {
      Score score;
      const bool is = judge.score_within(it.device, it.priority, limit, score);
      if (is) {
        EXPECT_EQ(score, truth);
      }
      return is;
    };
    EXPECT_TRUE(within(truth));
    EXPECT_TRUE(within({truth.overflow, truth.makespan, truth.peak + 1}));
    EXPECT_TRUE(within({truth.overflow, truth.makespan + 1, 0}));
    EXPECT_TRUE(within({truth.overflow + 1, 0, 0}));
    EXPECT_FALSE(within({truth.overflow, truth.makespan, truth.peak - 1}));
    EXPECT_FALSE(within({truth.overflow, truth.makespan - 1, truth.peak + 1}));
    EXPECT_FALSE(within({truth.overflow - 1, truth.makespan, truth.peak}));
    Score score;
    EXPECT_TRUE(judge.score_within_makespan(it.device, it.priority, truth.makespan, score));
    EXPECT_EQ(score, truth);
    if (it.graph.num_nodes() > 0) {
      EXPECT_FALSE(judge.score_within_makespan(it.device, it.priority, truth.makespan - 1, score));
    }
  }
}

// Memory matters as soon as some placement could overflow: one node of 10 bytes and usable 10 or 9; a second device that
// is too small for everything makes it matter, too.
TEST(Judge, TracksMemoryOnlyWhereItCanOverflow) {
  const auto matters = [](std::vector<Bytes> capacities) {
    test::GraphBuilder g;
    g.node("a", 1, 4).node("b", 1, 1, 2).edge("a", "b", 3);
    const Graph graph(g.data());
    Machine machine = homogeneous_machine(static_cast<DeviceId>(capacities.size()));
    machine.headroom = 0;
    for (std::size_t d = 0; d < capacities.size(); ++d) machine.devices[d].capacity = capacities[d];
    const CostModel costs(graph, machine);
    return Judge(costs, Policy::fifo).memory_matters();
  };
  EXPECT_FALSE(matters({10}));
  EXPECT_TRUE(matters({9}));
  EXPECT_FALSE(matters({kUnlimited, kUnlimited}));
  EXPECT_TRUE(matters({kUnlimited, 9}));
}

}  // namespace
}  // namespace pardnn
