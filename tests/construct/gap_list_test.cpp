#include "construct/gap_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "support/random_graphs.hpp"

namespace pardnn {
namespace {

// Busy: [4, 10) and [13, 20).
GapList two_busy_intervals() {
  GapList gaps;
  gaps.occupy(4, 6);
  gaps.occupy(13, 7);
  return gaps;
}

TEST(GapList, FindsTheFirstGapThatIsLongEnough) {
  const GapList gaps = two_busy_intervals();
  EXPECT_EQ(gaps.earliest(0, 4), 0);
  EXPECT_EQ(gaps.earliest(0, 5), 20);
  EXPECT_EQ(gaps.earliest(1, 4), 20);
  EXPECT_EQ(gaps.earliest(1, 3), 1);
  EXPECT_EQ(gaps.earliest(2, 3), 10);
  EXPECT_EQ(gaps.earliest(11, 3), 20);
  EXPECT_EQ(gaps.earliest(30, 1), 30);
  EXPECT_EQ(gaps.tail(), 20);
}

TEST(GapList, OperationsWithoutDurationFitBetweenTwoThatTouch) {
  GapList gaps;
  gaps.occupy(0, 5);
  gaps.occupy(5, 5);
  EXPECT_EQ(gaps.earliest(3, 0), 5);
  EXPECT_EQ(gaps.earliest(5, 0), 5);
  EXPECT_EQ(gaps.earliest(6, 0), 10);
  EXPECT_EQ(gaps.earliest(3, 1), 10);
}

/// The slow way: tries ready and the end of every busy interval.
Nanoseconds slow_earliest(const std::vector<std::pair<Nanoseconds, Nanoseconds>>& busy, Nanoseconds ready, Nanoseconds duration) {
  std::vector<Nanoseconds> tries{ready};
  for (const auto& interval : busy) tries.push_back(std::max(ready, interval.second));
  std::sort(tries.begin(), tries.end());
  for (const Nanoseconds t : tries) {
    bool fits = true;
    for (const auto& interval : busy) {
      const bool before = t + duration <= interval.first, after = t >= interval.second;
      fits = fits && (before || after);
    }
    if (fits) return t;
  }
  return -1;
}

TEST(GapList, AgreesWithASearchOverAllIntervals) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    test::TestRandom random(seed);
    GapList gaps;
    std::vector<std::pair<Nanoseconds, Nanoseconds>> busy;
    // Enough intervals that chunks split and blocks are skipped.
    for (int i = 0; i < 700; ++i) {
      const Nanoseconds ready = random.below(4000), duration = random.below(12);
      const Nanoseconds start = gaps.earliest(ready, duration);
      ASSERT_EQ(start, slow_earliest(busy, ready, duration)) << "seed " << seed << ", operation " << i;
      gaps.occupy(start, duration);
      if (duration > 0) busy.emplace_back(start, start + duration);
    }
  }
}

TEST(GapList, SkipsWholeBlocksOfChunks) {
  GapList gaps;
  // 40,000 operations of 3 with pauses of 1: 40,000 gaps, more than 128 chunks of 128.
  for (Nanoseconds i = 0; i < 40'000; ++i) gaps.occupy(4 * i + 1, 3);
  EXPECT_EQ(gaps.earliest(0, 1), 0);
  EXPECT_EQ(gaps.earliest(1, 1), 4);
  EXPECT_EQ(gaps.earliest(0, 2), 160'000);
  EXPECT_EQ(gaps.earliest(80'001, 1), 80'004);
}

}  // namespace
}  // namespace pardnn
