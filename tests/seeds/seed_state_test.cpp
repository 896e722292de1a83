#include "seeds/seed_state.hpp"

#include <set>

#include <gtest/gtest.h>

#include "pardnn/error.hpp"
#include "seeds/seed_messages.hpp"
#include "support/random_graphs.hpp"

namespace pardnn::test {
namespace {

using Ranges = std::map<std::int64_t, std::int64_t>;

Seeded seeded(std::int64_t index, Bytes overflow, Nanoseconds makespan, Bytes peak) {
  Seeded result;
  result.index = index;
  result.candidate.score = {overflow, makespan, peak};
  return result;
}

TEST(SeedSet, NeighboursBecomeOneRange) {
  SeedSet set;
  set.add(3);
  set.add(5);
  EXPECT_EQ(set.ranges(), (Ranges{{3, 3}, {5, 5}}));
  set.add(4);
  EXPECT_EQ(set.ranges(), (Ranges{{3, 5}}));
  set.add(0, 9);
  EXPECT_EQ(set.ranges(), (Ranges{{0, 9}}));
  EXPECT_EQ(set.count(), 10);
  EXPECT_EQ(set.greatest(), 9);
}

TEST(SeedSet, AgreesWithASetOfNumbers) {
  TestRandom random(5);
  SeedSet set;
  std::set<std::int64_t> numbers;
  for (int i = 0; i < 400; ++i) {
    const std::int64_t first = random.below(500), last = first + random.below(4);
    set.add(first, last);
    for (std::int64_t n = first; n <= last; ++n) numbers.insert(n);
    ASSERT_EQ(set.count(), static_cast<std::int64_t>(numbers.size()));
  }
  for (std::int64_t n = 0; n < 510; ++n) ASSERT_EQ(set.contains(n), numbers.contains(n)) << n;
  std::int64_t before = -2;
  for (const auto& [first, last] : set.ranges()) {
    EXPECT_GT(first, before + 1);
    EXPECT_LE(first, last);
    before = last;
  }
}

TEST(BetterSeed, FeasibleThenMakespanThenPeakThenLowerSeed) {
  EXPECT_TRUE(is_better(seeded(9, 0, 100, 5), seeded(0, 1, 50, 5)));
  EXPECT_TRUE(is_better(seeded(9, 0, 99, 9), seeded(0, 0, 100, 5)));
  EXPECT_TRUE(is_better(seeded(9, 0, 100, 4), seeded(0, 0, 100, 5)));
  EXPECT_TRUE(is_better(seeded(3, 0, 100, 5), seeded(4, 0, 100, 5)));
  EXPECT_FALSE(is_better(seeded(4, 0, 100, 5), seeded(4, 0, 100, 5)));
}

TEST(SeedMessages, ComeBackAsTheyWere) {
  SeedMessage message{SeedMessage::Kind::seed_done, 7, seeded(7, 1, 2, 3)};
  message.seeded->candidate.device = {0, 1, 2};
  message.seeded->candidate.priority = {-5, 0, INT64_MAX};
  message.seeded->candidate.origin = "eil";
  const SeedMessage back = seed_message(to_bytes(message));
  EXPECT_EQ(back.kind, message.kind);
  EXPECT_EQ(back.number, 7);
  ASSERT_TRUE(back.seeded.has_value());
  EXPECT_EQ(back.seeded->index, 7);
  EXPECT_EQ(back.seeded->candidate.score, message.seeded->candidate.score);
  EXPECT_EQ(back.seeded->candidate.device, message.seeded->candidate.device);
  EXPECT_EQ(back.seeded->candidate.priority, message.seeded->candidate.priority);
  EXPECT_EQ(back.seeded->candidate.origin, "eil");
  EXPECT_FALSE(seed_message(to_bytes({SeedMessage::Kind::over, 0, {}})).seeded.has_value());
}

TEST(SeedMessages, CutShortIsAnError) {
  ByteBuffer bytes = to_bytes({SeedMessage::Kind::seed_done, 7, seeded(7, 1, 2, 3)});
  bytes.pop_back();
  EXPECT_THROW(seed_message(bytes), SystemError);
}

}  // namespace
}  // namespace pardnn::test
