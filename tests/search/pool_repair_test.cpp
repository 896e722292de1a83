#include "search/pool_repair.hpp"

#include <gtest/gtest.h>

#include "search/search_case.hpp"

namespace pardnn {
namespace {

/// Two residuals of 6 on two devices of 10, with a node that runs in 5 and one that runs in 2.
struct TwoResiduals {
  TwoResiduals() : costs(graph, machine), judge(costs, Policy::fifo), pool(judge, 3) {}
  static GraphData data() {
    return test::GraphBuilder().node("x", 5, 6).node("y", 2, 6).kind("x", NodeKind::residual).kind("y", NodeKind::residual).data();
  }
  static Machine two_devices() {
    Machine two = homogeneous_machine(2, 10);
    two.headroom = 0;
    return two;
  }
  Graph graph{data()};
  Machine machine = two_devices();
  CostModel costs;
  Judge judge;
  Pool pool;
};

TEST(RepairOverfull, RepairsWhatDoesNotFit) {
  TwoResiduals c;
  c.pool.add({0, 0}, "both on one");
  EXPECT_TRUE(c.pool.has_overfull());
  EXPECT_LT(repair_overfull(c.pool, 1'000'000, {}), 1'000'000);
  EXPECT_TRUE(c.pool.best().score.feasible());
  EXPECT_EQ(c.pool.best().score.makespan, 5);
  EXPECT_EQ(c.pool.best().origin, "both on one, repaired (1 moves)");
  EXPECT_FALSE(c.pool.has_overfull());
  EXPECT_EQ(repair_overfull(c.pool, 7, {}), 7);  // nothing left to do
}

TEST(RepairOverfull, RepairsOneWhileNothingFitsEvenWithoutVisits) {
  TwoResiduals c;
  c.pool.add({1, 1}, "both on one");
  repair_overfull(c.pool, 0, {});
  EXPECT_TRUE(c.pool.best().score.feasible());
}

TEST(RepairOverfull, StopsWhenAsked) {
  TwoResiduals c;
  c.pool.add({1, 1}, "both on one");
  repair_overfull(c.pool, 1'000'000, [] { return true; });
  EXPECT_FALSE(c.pool.best().score.feasible());
}

/// On random cases: what comes in is legal and judged, and the pool's best is never worse.
TEST(RepairOverfull, NeverMakesThePoolWorse) {
  int repaired = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    test::SearchCase c(seed);
    Pool pool(c.judge, 4);
    pool.keep(c.start);
    const Score before = pool.best().score;
    repair_overfull(pool, 300'000, {});
    ASSERT_FALSE(before < pool.best().score);
    for (const Candidate& candidate : pool.candidates()) ASSERT_EQ(candidate.score, c.judged_again(candidate));
    repaired += pool.best().score < before ? 1 : 0;
  }
  EXPECT_GT(repaired, 10);
}

TEST(AddRepairedStepOne, AddsAFitWhereStepOneAloneOverflows) {
  TwoResiduals c;
  c.pool.add({0, 0}, "both on one");
  add_repaired_step_one(c.pool, {});
  // Step one gives each residual a device of its own here: it fits, so there is nothing to repair.
  EXPECT_FALSE(c.pool.best().score.feasible());
  int repaired = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    test::SearchCase random(seed);
    if (!random.judge.memory_matters()) continue;
    Pool pool(random.judge, 4);
    pool.keep(random.start);
    const Score before = pool.best().score;
    add_repaired_step_one(pool, {});
    ASSERT_FALSE(before < pool.best().score);
    for (const Candidate& candidate : pool.candidates()) ASSERT_EQ(candidate.score, random.judged_again(candidate));
    repaired += pool.best().origin.starts_with("ParDNN as published, repaired") ? 1 : 0;
  }
  EXPECT_GT(repaired, 5);
}

}  // namespace
}  // namespace pardnn
