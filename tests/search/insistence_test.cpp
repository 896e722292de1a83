#include "search/insistence.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "search/search_case.hpp"
#include "support/random_graphs.hpp"

namespace pardnn {
namespace {

TEST(InsistOnAFit, FindsOneWhereTheGivenCandidateDoesNotFit) {
  test::RandomGraphOptions options = test::RandomGraphOptions::plain(300);
  options.max_mem = 1000;
  const Graph graph(test::random_graph_data(3, options));
  const std::vector<DeviceId> one(300, 0);
  const Bytes peak = evaluate(graph, homogeneous_machine(1), {one, {}}, Policy::fifo).greatest_peak();
  Machine machine = homogeneous_machine(4, peak * 35 / 100);
  machine.headroom = 0;
  const CostModel costs(graph, machine);
  Judge judge(costs, Policy::fifo);
  Pool pool(judge, 3);
  pool.add(one, "one device");
  ASSERT_FALSE(pool.best().score.feasible());
  insist_on_a_fit(pool, 1, 100'000'000, {});
  EXPECT_TRUE(pool.best().score.feasible());
  EXPECT_EQ(judge.score(pool.best().device), pool.best().score);
  const Candidate best = pool.best();
  Pool again(judge, 3);
  again.add(one, "one device");
  insist_on_a_fit(again, 1, 100'000'000, {});
  EXPECT_EQ(again.best().device, best.device);
}

TEST(InsistOnAFit, EndsWhereNothingFitsAndWhenAsked) {
  const Graph graph(test::GraphBuilder().node("x", 1, 20).kind("x", NodeKind::residual).node("y", 1, 20).data());
  Machine machine = homogeneous_machine(2, 10);
  machine.headroom = 0;
  const CostModel costs(graph, machine);
  Judge judge(costs, Policy::fifo);
  Pool pool(judge, 3);
  pool.add(std::vector<DeviceId>{0, 0}, "one device");
  insist_on_a_fit(pool, 1, 1'000'000, {});
  EXPECT_FALSE(pool.best().score.feasible());
  const std::int64_t runs = judge.runs();
  insist_on_a_fit(pool, 1, 1'000'000, [] { return true; });
  EXPECT_EQ(judge.runs(), runs);
}

}  // namespace
}  // namespace pardnn
