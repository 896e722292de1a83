#include "search/memory_starts.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "search/search_case.hpp"
#include "support/random_graphs.hpp"

namespace pardnn {
namespace {

ListOptions eil_variant() {
  ListOptions options;
  options.lazy_sources = true;
  return options;
}

/// A random graph on four devices that hold `share` of what one device needs at its peak, in percent.
struct FourDevices {
  FourDevices(std::uint64_t seed, Bytes share) {
    test::RandomGraphOptions options = test::RandomGraphOptions::plain(400);
    options.max_mem = 1000;
    graph = Graph(test::random_graph_data(seed, options));
    const std::vector<DeviceId> one(400, 0);
    const Bytes peak = evaluate(graph, homogeneous_machine(1), {one, {}}, Policy::fifo).greatest_peak();
    machine = homogeneous_machine(4, peak * share / 100);
    machine.headroom = 0;
  }
  Graph graph;
  Machine machine;
};

TEST(AddBudgeted, EndsAfterItsSteps) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    for (const Bytes share : {2, 30, 90}) {
      SCOPED_TRACE(share);
      const FourDevices c(seed, share);
      const CostModel costs(c.graph, c.machine);
      Judge judge(costs, Policy::fifo);
      Pool pool(judge, 50);
      const int runs = add_budgeted(pool, eil_variant(), "eil", 6, {});
      EXPECT_GE(runs, 1);
      EXPECT_LE(runs, 6);
      for (const Candidate& candidate : pool.candidates()) {
        EXPECT_EQ(candidate.score, judge.score(candidate.device));
        EXPECT_EQ(candidate.origin, "eil-mem");
      }
      EXPECT_TRUE(share < 90 || pool.best().score.feasible());
      Pool once(judge, 50);
      EXPECT_EQ(add_budgeted(once, eil_variant(), "eil", 6, [] { return true; }), 1);
    }
  }
}

TEST(AddBudgeted, LeavesHeftAndUnlimitedMemoryAlone) {
  const FourDevices c(1, 30);
  const CostModel costs(c.graph, c.machine);
  Judge judge(costs, Policy::fifo);
  Pool pool(judge, 5);
  ListOptions heft;
  heft.method = ListMethod::heft;
  EXPECT_EQ(add_budgeted(pool, heft, "heft", 6, {}), 0);
  const Machine unlimited = homogeneous_machine(4);
  const CostModel free(c.graph, unlimited);
  Judge any(free, Policy::fifo);
  Pool other(any, 5);
  EXPECT_EQ(add_budgeted(other, eil_variant(), "eil", 6, {}), 0);
  EXPECT_TRUE(other.empty());
}

/// Raised budgets find shorter placements than usable memory as the budget does, on most of these.
TEST(AddBudgeted, RaisesPayWhereTheEstimateIsHigh) {
  int raised = 0, shorter = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const FourDevices c(seed, 45);
    const CostModel costs(c.graph, c.machine);
    Judge judge(costs, Policy::fifo);
    Pool first(judge, 50), more(judge, 50);
    add_budgeted(first, eil_variant(), "eil", 1, {});
    raised += add_budgeted(more, eil_variant(), "eil", 5, {}) > 1 ? 1 : 0;
    ASSERT_FALSE(first.best().score < more.best().score);
    shorter += more.best().score < first.best().score ? 1 : 0;
  }
  EXPECT_GT(raised, 0);
  EXPECT_GT(shorter, 0);
}

}  // namespace
}  // namespace pardnn
