#include "search/order_starts.hpp"

#include <gtest/gtest.h>

#include "order/micro_batches.hpp"
#include "search/search_case.hpp"
#include "search/seed_search.hpp"

namespace pardnn {
namespace {

TEST(OrderStarts, SayWhatEvaluateSays) {
  int tried = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    test::SearchCase c(seed);
    if (c.drawn.policy != Policy::priority || c.graph.num_nodes() == 0) continue;
    Pool pool(c.judge, 20);
    pool.keep(c.start);
    add_order_starts(pool, {});
    EXPECT_GT(pool.candidates().size(), 1u);
    for (const Candidate& candidate : pool.candidates()) {
      EXPECT_EQ(candidate.score, c.judged_again(candidate)) << "seed " << seed << ", " << candidate.origin;
      ++tried;
    }
  }
  EXPECT_GT(tried, 200);
}

TEST(OrderStarts, FifosOrderIsFifosRun) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    test::SearchCase c(seed);
    Judge fifo(c.costs, Policy::fifo), priority(c.costs, Policy::priority);
    Pool from(fifo, 1), to(priority, 1);
    from.add(c.start.device, "random");
    add_replayed(to, from);
    ASSERT_EQ(to.candidates().size(), 1u);
    EXPECT_EQ(to.best().score, from.best().score) << "seed " << seed;
    EXPECT_EQ(to.best().device, c.start.device);
  }
}

// 8 micro-batches on two devices: at half of what fifo needs nothing fits in fifo's order, much does depth first.
TEST(OrderStarts, FitMicroBatchesInHalfOfWhatFifoNeeds) {
  const Graph graph(test::micro_batches(40, 8));
  const std::vector<DeviceId> one(static_cast<std::size_t>(graph.num_nodes()), 0);
  const Bytes alone = evaluate(graph, homogeneous_machine(1), {one, {}}, Policy::fifo).greatest_peak();
  Machine machine = homogeneous_machine(2, alone / 4, 1'000'000'000, 5);
  machine.headroom = 0;
  const CostModel costs(graph, machine);
  Judge judge(costs, Policy::priority);
  Pool pool(judge, 3);
  pool.add(one, "one device");
  EXPECT_FALSE(pool.best().score.feasible());
  add_order_starts(pool, {});
  EXPECT_TRUE(pool.best().score.feasible());
  EXPECT_LT(pool.best().score.makespan, judge.score(one).makespan);
}

TEST(OrderStarts, AreTheSameEveryTime) {
  const Graph graph(test::micro_batches(20, 4));
  Machine machine = homogeneous_machine(3, 2000, 1'000'000'000, 5);
  machine.headroom = 0;
  const CostModel costs(graph, machine);
  std::vector<Candidate> first;
  for (int i = 0; i < 2; ++i) {
    Judge judge(costs, Policy::priority);
    Pool pool(judge, 5);
    pool.add(std::vector<DeviceId>(static_cast<std::size_t>(graph.num_nodes()), 0), "one device");
    add_order_starts(pool, {});
    if (i == 0) first = pool.candidates();
    ASSERT_EQ(pool.candidates().size(), first.size());
    for (std::size_t c = 0; c < first.size(); ++c) {
      EXPECT_EQ(pool.candidates()[c].device, first[c].device);
      EXPECT_EQ(pool.candidates()[c].priority, first[c].priority);
      EXPECT_EQ(pool.candidates()[c].score, first[c].score);
    }
  }
}

}  // namespace
}  // namespace pardnn
