#include "search/exhaustive.hpp"

#include <gtest/gtest.h>

#include "search/search_case.hpp"
#include "support/brute_force.hpp"

namespace pardnn {
namespace {

TEST(Exhaustive, FindsTheBestOfAllPlacements) {
  int compared = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    test::SearchCase c(seed);
    const auto count = count_placements(c.costs, 3000);
    if (!count) continue;
    Score best{kSumLimit, kSumLimit, kSumLimit};
    test::for_each_placement(c.graph, c.drawn.machine.num_devices(), [&](const std::vector<DeviceId>& device) {
      best = std::min(best, c.judge.score(device));
    });
    const std::int64_t before = c.judge.runs();
    const Candidate found = best_of_all(c.judge);
    EXPECT_EQ(found.score, best) << "seed " << seed;
    EXPECT_EQ(c.judge.runs() - before, *count);
    EXPECT_EQ(c.judged_again(found), best);
    ++compared;
  }
  EXPECT_GT(compared, 50);
}

// Three free nodes on three like devices: {abc}, {ab|c}, {ac|b}, {a|bc}, {a|b|c}.
TEST(Exhaustive, TriesLikeDevicesOnce) {
  const Graph graph(test::GraphBuilder().node("a", 1).node("b", 1).node("c", 1).data());
  const Machine machine = homogeneous_machine(3);
  EXPECT_EQ(count_placements(CostModel(graph, machine), 100), 5);
  Machine unlike = machine;
  unlike.devices[1].speed = 2 * kOne;
  EXPECT_EQ(count_placements(CostModel(graph, unlike), 100), 27);
  EXPECT_EQ(count_placements(CostModel(graph, unlike), 26), std::nullopt);
}

}  // namespace
}  // namespace pardnn
