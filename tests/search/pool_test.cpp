#include "search/pool.hpp"

#include <gtest/gtest.h>

#include "search/search_case.hpp"
#include "search/starts.hpp"

namespace pardnn {
namespace {

Candidate with(Nanoseconds makespan, DeviceId device) {
  Candidate candidate;
  candidate.device = {device};
  candidate.score = {0, makespan, 0};
  return candidate;
}

TEST(Pool, KeepsTheBestInOrderAndNoTwins) {
  const Graph graph(test::GraphBuilder().node("a", 1).data());
  const Machine machine = homogeneous_machine(9);
  const CostModel costs(graph, machine);
  Judge judge(costs, Policy::fifo);
  Pool pool(judge, 3);
  EXPECT_TRUE(pool.empty());
  for (const auto& [makespan, device] : {std::pair{5, 0}, {3, 1}, {9, 2}, {3, 1}, {4, 3}}) pool.keep(with(makespan, device));
  ASSERT_EQ(pool.candidates().size(), 3u);
  EXPECT_EQ(pool.best().score.makespan, 3);
  EXPECT_EQ(pool.candidates()[1].score.makespan, 4);
  EXPECT_EQ(pool.candidates()[2].score.makespan, 5);
}

TEST(Pool, IsTightWhileTheFastestDoesNotFit) {
  const Graph graph(test::GraphBuilder().node("a", 1).data());
  const Machine machine = homogeneous_machine(9);
  const CostModel costs(graph, machine);
  Judge judge(costs, Policy::fifo);
  Pool pool(judge, 1);
  EXPECT_FALSE(pool.is_tight());
  Candidate unfit = with(5, 0);
  unfit.score.overflow = 1;
  pool.keep(unfit);
  EXPECT_TRUE(pool.is_tight());  // nothing fits
  pool.keep(with(6, 1));
  EXPECT_TRUE(pool.is_tight());
  pool.keep(with(5, 2));
  EXPECT_FALSE(pool.is_tight());
}

TEST(Starts, AreLegalJudgedAndStopAfterTheFirst) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    for (const Preset preset : {Preset::fast, Preset::standard}) {
      test::SearchCase c(seed);
      Pool pool(c.judge, 50);
      std::int64_t steps = 0;
      StartContext context{preset, 1, {}, [&](std::int64_t done) { steps = done; }};
      add_starts(pool, context);
      EXPECT_EQ(steps, count_starts(c.costs, context));
      for (const Candidate& candidate : pool.candidates()) EXPECT_EQ(candidate.score, c.judged_again(candidate)) << candidate.origin;
      Pool stopped(c.judge, 50);
      context.should_stop = [] { return true; };
      add_starts(stopped, context);
      EXPECT_FALSE(stopped.empty());
      EXPECT_LE(stopped.candidates().size(), 2u);
    }
  }
}

}  // namespace
}  // namespace pardnn
