#include "search/pool.hpp"

#include <gtest/gtest.h>

#include "parallel/threads.hpp"
#include "search/replica_starts.hpp"
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

TEST(Pool, WhatCannotBeKeptIsNotEmulated) {
  const Graph graph(test::GraphBuilder().node("a", 3).node("b", 4).data());
  const Machine machine = homogeneous_machine(2);
  const CostModel costs(graph, machine);
  Judge judge(costs, Policy::fifo);
  Pool pool(judge, 1);
  pool.add({0, 1}, "apart");
  EXPECT_EQ(pool.best().score.makespan, 4);
  const std::int64_t runs = judge.runs();
  pool.add({0, 0}, "together");  // 7 on one device
  EXPECT_EQ(judge.runs(), runs);
  EXPECT_EQ(pool.best().origin, "apart");
}

// What fifo makes of a placement is reached under priority, too, by its order.
TEST(Pool, FifosOrderIsReplayed) {
  int shorter = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    test::SearchCase c(seed);
    if (c.judge.policy() != Policy::priority) continue;
    Judge fifo(c.costs, Policy::fifo);
    const Score run = fifo.score(c.start.device);
    Pool pool(c.judge, 2);
    pool.try_fifo_orders();
    pool.add(c.start.device, "start");
    ASSERT_FALSE(pool.empty());
    EXPECT_FALSE(run < pool.best().score) << "seed " << seed;
    for (const Candidate& candidate : pool.candidates()) EXPECT_EQ(candidate.score, c.judged_again(candidate)) << candidate.origin;
    shorter += run < c.judge.score(c.start.device);
  }
  EXPECT_GT(shorter, 5);
}

// A graph of three micro-batches over two weights: layouts and teams are added, each with the score that evaluate() gives.
TEST(ReplicaStarts, AreAddedWhereThereAreReplicas) {
  test::GraphBuilder builder;
  builder.node("w", 0, 10).kind("w", NodeKind::residual).node("sum", 1);
  for (const std::string b : {"0", "1", "2"}) {
    builder.node("x" + b, 0, 5).node("f" + b, 50, 5).edge("x" + b, "f" + b, 5).edge("w", "f" + b, 10);
    builder.node("g" + b, 50, 5).edge("f" + b, "g" + b, 5).edge("g" + b, "sum", 5);
  }
  const Graph graph(builder.data());
  for (const Policy policy : {Policy::fifo, Policy::priority}) {
    const Machine machine = homogeneous_machine(4, kUnlimited, 1'000'000'000, 1);
    const CostModel costs(graph, machine);
    Judge judge(costs, policy);
    Pool pool(judge, 50);
    StartList starts;
    list_replica_starts(starts, pool, Preset::standard);
    starts.run(pool, {Preset::standard, 1, {}, {}});
    EXPECT_GE(pool.candidates().size(), 2u);
    for (const Candidate& candidate : pool.candidates()) {
      EXPECT_EQ(candidate.score.makespan, evaluate(graph, machine, {candidate.device, candidate.priority}, policy).makespan);
    }
    EXPECT_LE(pool.best().score.makespan, 125);  // side by side: 100, transfers, the sum
  }
  const Graph one(test::chain(5));
  const Machine machine = homogeneous_machine(4);
  const CostModel costs(one, machine);
  Judge judge(costs, Policy::fifo);
  Pool pool(judge, 5);
  StartList starts;
  list_replica_starts(starts, pool, Preset::standard);
  starts.run(pool, {Preset::standard, 1, {}, {}});
  EXPECT_TRUE(pool.empty());
}

// Memory is tight on some of the cases, so that what follows a start depends on the pool.
TEST(Starts, FillThePoolAlikeOnAnyNumberOfThreads) {
  for (std::uint64_t seed = 0; seed < 16; ++seed) {
    test::SearchCase c(seed);
    std::vector<Candidate> serial;
    for (const int threads : {1, 2, 3, 8}) {
      const ThreadScope scope(threads);
      Pool pool(c.judge, 3);
      add_starts(pool, {Preset::standard, 1, {}, {}});
      if (threads == 1) serial = pool.candidates();
      ASSERT_EQ(pool.candidates().size(), serial.size()) << "seed " << seed << ", " << threads << " threads";
      for (std::size_t i = 0; i < serial.size(); ++i) {
        EXPECT_EQ(pool.candidates()[i].device, serial[i].device) << "seed " << seed << ", " << threads << " threads";
        EXPECT_EQ(pool.candidates()[i].priority, serial[i].priority);
        EXPECT_EQ(pool.candidates()[i].origin, serial[i].origin);
      }
    }
  }
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
