#include "search/cooling.hpp"

#include <gtest/gtest.h>

namespace pardnn {
namespace {

TEST(Cooling, SlackIsExponentialWithTheTemperatureAsItsMean) {
  RandomStream random(1, 2);
  const Cooling cooling(10'000, 100, 200, 1'000'000'000);
  double sum = 0;
  const int draws = 20'000;
  for (int i = 0; i < draws; ++i) sum += static_cast<double>(cooling.slack(random));
  EXPECT_NEAR(sum / draws, 0.01 * 1e9, 0.08 * 0.01 * 1e9);
}

TEST(Cooling, GoesFromStartToEnd) {
  RandomStream random(1, 2);
  Cooling cooling(20'000, 300, 200, 1'000'000'000);
  for (int i = 0; i < 200; ++i) cooling.step();
  double sum = 0;
  for (int i = 0; i < 20'000; ++i) sum += static_cast<double>(cooling.slack(random));
  EXPECT_NEAR(sum / 20'000, 0.0003 * 1e9, 0.3 * 0.0003 * 1e9);
}

TEST(RandomStream, IsAFunctionOfSeedAndStage) {
  RandomStream a(5, 1), same(5, 1), other_stage(5, 2), other_seed(6, 1);
  const std::uint64_t first = a.bits();
  EXPECT_EQ(first, same.bits());
  EXPECT_NE(first, other_stage.bits());
  EXPECT_NE(first, other_seed.bits());
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t drawn = a.below(7);
    EXPECT_GE(drawn, 0);
    EXPECT_LT(drawn, 7);
  }
}

}  // namespace
}  // namespace pardnn
