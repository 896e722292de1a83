#include "search/seed_search.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "refinement/step_one.hpp"
#include "repair/overflow_repair.hpp"
#include "search/search_case.hpp"
#include "support/random_graphs.hpp"

namespace pardnn {
namespace {

Candidate searched(const CostModel& costs, Policy policy, const SeedSearchOptions& options) {
  Judge judge(costs, policy);
  std::vector<StageTime> stages;
  StageClock clock(nullptr, stages);
  return search_seed(judge, options, clock);
}

TEST(SearchSeed, StrongBeginsWithWhatDefaultFinds) {
  const Graph graph(test::random_graph_data(5, test::RandomGraphOptions::plain(60)));
  const Machine machine = homogeneous_machine(3);
  const CostModel costs(graph, machine);
  std::atomic<std::int64_t> asked = 0;
  SeedSearchOptions options;
  options.should_stop = [&] { return ++asked < 0; };
  const Candidate quick = searched(costs, Policy::fifo, options);
  const std::int64_t enough = asked;
  ASSERT_GT(enough, 0);
  // Stopped as soon as default would have been done.
  asked = 0;
  options.preset = Preset::strong;
  options.should_stop = [&] { return ++asked > enough; };
  std::vector<Score> told;
  options.on_best = [&](const Candidate& best) { told.push_back(best.score); };
  const Candidate strong = searched(costs, Policy::fifo, options);
  EXPECT_FALSE(quick.score < strong.score);
  ASSERT_FALSE(told.empty());
  for (std::size_t i = 1; i < told.size(); ++i) EXPECT_LT(told[i], told[i - 1]);
  EXPECT_EQ(told.back(), strong.score);
}

/// With memory that decides: the published method, repaired as published, is nowhere ahead of default.
TEST(SearchSeed, DefaultIsNeverBehindTheRepairedPublishedMethod) {
  int fits = 0;
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE(seed);
    test::RandomGraphOptions of_graph = test::RandomGraphOptions::plain(60);
    of_graph.max_mem = 1000;
    const Graph graph(test::random_graph_data(seed, of_graph));
    const std::vector<DeviceId> one(60, 0);
    const Bytes peak = evaluate(graph, homogeneous_machine(1), {one, {}}, Policy::fifo).greatest_peak();
    Machine machine = homogeneous_machine(3, peak * 42 / 100);
    machine.headroom = 0;
    const CostModel costs(graph, machine);
    Judge judge(costs, Policy::fifo);
    std::vector<DeviceId> device = paper_step_one(costs, {});
    if (!judge.score(device).feasible()) device = repair_overflow(judge, std::move(device), {}, {}).device;
    const Score published = judge.score(device);
    const Candidate found = searched(costs, Policy::fifo, {});
    if (!published.feasible()) continue;
    ++fits;
    EXPECT_TRUE(found.score.feasible());
    EXPECT_LE(found.score.makespan, published.makespan);
  }
  EXPECT_GT(fits, 3);
}

}  // namespace
}  // namespace pardnn
