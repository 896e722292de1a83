#include "memory/bin_packing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "support/random_graphs.hpp"

namespace pardnn {
namespace {

TEST(BinsNeeded, ByHand) {
  EXPECT_EQ(bins_needed(std::vector<Bytes>{}, 10), 0);
  EXPECT_EQ(bins_needed(std::vector<Bytes>{0, 0}, 0), 0);
  EXPECT_EQ(bins_needed(std::vector<Bytes>{10}, 10), 1);
  EXPECT_EQ(bins_needed(std::vector<Bytes>{11}, 10), kSumLimit);
  EXPECT_EQ(bins_needed(std::vector<Bytes>{6, 6, 6}, 10), 3);       // no two share
  EXPECT_EQ(bins_needed(std::vector<Bytes>{5, 5, 5}, 10), 2);
  EXPECT_EQ(bins_needed(std::vector<Bytes>{7, 4, 4, 4}, 10), 3);    // nothing goes beside 7, two of the others share
  EXPECT_EQ(bins_needed(std::vector<Bytes>{7, 3, 3, 3, 3}, 10), 2); // 19 in all, but 7 + 3 and 3 + 3 + 3
  EXPECT_EQ(bins_needed(std::vector<Bytes>{4, 4, 4, 4, 4}, 10), 2); // 20 in all: the bound is not the truth (3)
}

/// Fewest bins by trying everything.
std::int64_t fewest_bins(const std::vector<Bytes>& pieces, Bytes capacity, std::size_t next, std::vector<Bytes>& bins) {
  if (next == pieces.size()) return static_cast<std::int64_t>(bins.size());
  std::int64_t fewest = kSumLimit;
  for (std::size_t b = 0; b < bins.size(); ++b) {
    if (bins[b] + pieces[next] > capacity) continue;
    bins[b] += pieces[next];
    fewest = std::min(fewest, fewest_bins(pieces, capacity, next + 1, bins));
    bins[b] -= pieces[next];
  }
  bins.push_back(pieces[next]);
  fewest = std::min(fewest, fewest_bins(pieces, capacity, next + 1, bins));
  bins.pop_back();
  return fewest;
}

/// Never more than the truth, never less than the sum says, and mostly the truth.
TEST(BinsNeeded, NeverAboveTheTruth) {
  int exact = 0;
  constexpr int kCases = 3'000;
  for (std::uint64_t seed = 0; seed < kCases; ++seed) {
    SCOPED_TRACE(seed);
    test::TestRandom random(seed);
    const Bytes capacity = 1 + random.below(30);
    std::vector<Bytes> pieces(static_cast<std::size_t>(1 + random.below(8)));
    Bytes sum = 0;
    for (Bytes& piece : pieces) sum += piece = 1 + random.below(capacity);
    std::sort(pieces.begin(), pieces.end(), std::greater<>());
    std::vector<Bytes> bins;
    const std::int64_t truth = fewest_bins(pieces, capacity, 0, bins);
    const std::int64_t bound = bins_needed(pieces, capacity);
    ASSERT_LE(bound, truth);
    ASSERT_GE(bound, (sum + capacity - 1) / capacity);
    exact += bound == truth ? 1 : 0;
  }
  EXPECT_GT(exact, kCases * 9 / 10);
}

}  // namespace
}  // namespace pardnn
