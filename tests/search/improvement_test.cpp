// What all ways of improving a candidate promise: never worse than the start, the score is that of an independent evaluation,
// the same result every time, and a better one where there is an obvious one.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "parallel/threads.hpp"
#include "search/anneal.hpp"
#include "search/chain_descent.hpp"
#include "search/key_anneal.hpp"
#include "search/search_case.hpp"
#include "search/window_rebuild.hpp"

namespace pardnn {
namespace {

using Improve = std::function<Candidate(Judge&, const Candidate&)>;

Candidate annealed(Judge& judge, const Candidate& start) {
  AnnealOptions options;
  options.runs = 400;
  return anneal(judge, start, options);
}

Candidate descended(Judge& judge, const Candidate& start, int threads = 1) {
  DescentOptions options;
  options.visits = 200'000;
  options.threads = threads;
  return descend_chain(judge, start, options);
}

Candidate rebuilt(Judge& judge, const Candidate& start, int threads = 1) {
  RebuildOptions options;
  options.runs = 60;
  options.threads = threads;
  return rebuild_windows(judge, start, options);
}

class Improvement : public testing::TestWithParam<std::string> {
 protected:
  Improve improve() const {
    if (GetParam() == "anneal") return annealed;
    if (GetParam() == "chain_descent") return [](Judge& judge, const Candidate& start) { return descended(judge, start); };
    return [](Judge& judge, const Candidate& start) { return rebuilt(judge, start); };
  }
};

TEST_P(Improvement, IsNeverWorseAndSaysWhatEvaluateSays) {
  int better = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    test::SearchCase c(seed);
    const Candidate improved = improve()(c.judge, c.start);
    EXPECT_FALSE(c.start.score < improved.score) << "seed " << seed;
    if (c.graph.num_nodes() > 0) {
      EXPECT_EQ(improved.score, c.judged_again(improved)) << "seed " << seed;
    }
    better += improved.score < c.start.score;
  }
  EXPECT_GT(better, 30);
}

TEST_P(Improvement, IsTheSameEveryTime) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    test::SearchCase first(seed), second(seed);
    const Candidate a = improve()(first.judge, first.start), b = improve()(second.judge, second.start);
    EXPECT_EQ(a.device, b.device);
    EXPECT_EQ(a.priority, b.priority);
  }
}

TEST_P(Improvement, SpreadsIndependentWork) {
  test::GraphBuilder builder;
  for (int i = 0; i < 12; ++i) builder.node(std::string(1, static_cast<char>('a' + i)), 100);
  const Graph graph(builder.data());
  const Machine machine = homogeneous_machine(3, kUnlimited, 1'000'000'000, 5);
  const CostModel costs(graph, machine);
  Judge judge(costs, Policy::fifo);
  Candidate start;
  start.device.assign(12, 0);
  start.score = judge.score(start.device);
  EXPECT_EQ(start.score.makespan, 1200);
  EXPECT_EQ(improve()(judge, start).score.makespan, 400);
}

TEST_P(Improvement, StopsWhenToldTo) {
  test::SearchCase c(7);
  AnnealOptions annealing;
  annealing.should_stop = [] { return true; };
  EXPECT_EQ(anneal(c.judge, c.start, annealing).device, c.start.device);
  DescentOptions descent;
  descent.should_stop = [] { return true; };
  EXPECT_EQ(descend_chain(c.judge, c.start, descent).device, c.start.device);
  RebuildOptions rebuilding;
  rebuilding.should_stop = [] { return true; };
  EXPECT_EQ(rebuild_windows(c.judge, c.start, rebuilding).device, c.start.device);
}

INSTANTIATE_TEST_SUITE_P(Search, Improvement, testing::Values("anneal", "chain_descent", "rebuilt_windows"), [](const auto& parameter) { return parameter.param; });

// Budgets that end within a pass included.
TEST(ImprovementOnThreads, IsTheSameOnAnyNumberOfThreads) {
  const ThreadScope scope(8);
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    test::SearchCase c(seed);
    const Candidate windows = rebuilt(c.judge, c.start);
    DescentOptions options;
    for (const std::int64_t visits : {300, 3'000, 60'000}) {
      options.visits = visits;
      options.threads = 1;
      const Candidate descent = descend_chain(c.judge, c.start, options);
      for (const int threads : {2, 3, 8}) {
        options.threads = threads;
        const Candidate again = descend_chain(c.judge, c.start, options);
        EXPECT_EQ(again.device, descent.device) << "seed " << seed << ", " << threads << " threads";
        EXPECT_EQ(again.priority, descent.priority);
      }
    }
    for (const int threads : {2, 3, 8}) {
      const Candidate again = rebuilt(c.judge, c.start, threads);
      EXPECT_EQ(again.device, windows.device) << "seed " << seed << ", " << threads << " threads";
      EXPECT_EQ(again.priority, windows.priority);
      EXPECT_EQ(again.score, windows.score);
    }
  }
}

// Chains a1(2) a2(2), b1(3) b2(3) and c(2) on two devices without communication: all work 12, so 6 is the best there is.
TEST(KeyAnneal, FindsTheBestOrderOfASmallTaskGraph) {
  const Graph graph(test::GraphBuilder().node("a1", 2).node("a2", 2).node("b1", 3).node("b2", 3).node("c", 2)
                        .edge("a1", "a2", 0).edge("b1", "b2", 0).data());
  const Machine machine = homogeneous_machine(2, kUnlimited, 1'000'000'000, 0);
  const CostModel costs(graph, machine);
  for (const ListMethod method : {ListMethod::etf, ListMethod::heft}) {
    Judge judge(costs, Policy::priority);
    KeyAnnealOptions options;
    options.decoder.method = method;
    options.runs = 300;
    const Candidate best = anneal_keys(judge, options);
    EXPECT_EQ(best.score.makespan, 6);
    EXPECT_EQ(judge.score(best.device, best.priority), best.score);
  }
}

}  // namespace
}  // namespace pardnn
