#include "parallel/random.hpp"

#include <array>
#include <set>

#include <gtest/gtest.h>

namespace pardnn {
namespace {

TEST(Random, DependsOnSeedStageAndIndexAlone) {
  EXPECT_EQ(random_bits(1, 2, 3), random_bits(1, 2, 3));
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (std::uint64_t stage = 0; stage < 20; ++stage) {
      for (std::uint64_t index = 0; index < 20; ++index) seen.insert(random_bits(seed, stage, index));
    }
  }
  EXPECT_EQ(seen.size(), 8000u);
}

TEST(Random, MixIsTheFinalizerOfSplitmix64) {
  // First output of splitmix64 seeded with 1234567 (reference implementation of Vigna).
  EXPECT_EQ(mix_bits(1234567u + 0x9E3779B97F4A7C15u), 6457827717110365317u);
}

TEST(Random, BelowStaysBelowAndIsEven) {
  std::array<int, 7> counts{};
  for (std::uint64_t i = 0; i < 70'000; ++i) counts[random_below(random_bits(5, 6, i), 7)] += 1;
  for (const int count : counts) {
    EXPECT_GT(count, 9'500);
    EXPECT_LT(count, 10'500);
  }
  EXPECT_EQ(random_below(UINT64_MAX, 1), 0u);
  EXPECT_EQ(random_below(UINT64_MAX, UINT64_MAX), UINT64_MAX - 1);
}

TEST(Random, EachBitIsEven) {
  std::array<int, 64> ones{};
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const std::uint64_t bits = random_bits(i, 0, 0);  // consecutive seeds, too
    for (unsigned b = 0; b < 64; ++b) ones[b] += static_cast<int>((bits >> b) & 1u);
  }
  for (const int count : ones) {
    EXPECT_GT(count, 4'700);
    EXPECT_LT(count, 5'300);
  }
}

}  // namespace
}  // namespace pardnn
