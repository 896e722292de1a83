#include "report/rivals.hpp"

#include <gtest/gtest.h>

#include "pardnn/emulate.hpp"
#include "report/run_case.hpp"

namespace pardnn {
namespace {

TEST(FindRivals, FiveMethodsEachAsEvaluateJudgesIt) {
  const test::RunCase made = test::random_run_case(2);
  const CostModel costs(made.graph, made.machine);
  const Rivals rivals = find_rivals(costs, Policy::fifo);
  ASSERT_EQ(rivals.known.size(), 5u);
  EXPECT_TRUE(rivals.skipped.empty());
  EXPECT_EQ(rivals.known[0].name, "single");
  if (!made.graph.has_fixed()) {
    const Evaluation single = evaluate(made.graph, made.machine, {std::vector<DeviceId>(static_cast<std::size_t>(made.graph.num_nodes()), 0), {}}, Policy::fifo);
    EXPECT_EQ(rivals.known[0].makespan, single.makespan);
    EXPECT_EQ(rivals.known[0].peak, single.greatest_peak());
    EXPECT_EQ(rivals.known[0].feasible, single.feasible);
  }
}

TEST(FindRivals, SchedulersAreSkippedBeyondTheLimitAndNamed) {
  const test::RunCase made = test::random_run_case(2);
  const CostModel costs(made.graph, made.machine);
  const Rivals rivals = find_rivals(costs, Policy::fifo, 10);
  EXPECT_EQ(rivals.known.size(), 3u);
  EXPECT_EQ(rivals.skipped, (std::vector<std::string>{"heft", "etf"}));
}

}  // namespace
}  // namespace pardnn
