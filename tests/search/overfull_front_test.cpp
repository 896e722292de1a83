#include "search/overfull_front.hpp"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace pardnn {
namespace {

using Pairs = std::vector<std::pair<Bytes, Nanoseconds>>;

Candidate with(Bytes overflow, Nanoseconds makespan) {
  Candidate candidate;
  candidate.score = {overflow, makespan, 0};
  return candidate;
}

Pairs kept(const OverfullFront& front) {
  Pairs pairs;
  for (const Candidate& candidate : front.candidates()) pairs.emplace_back(candidate.score.overflow, candidate.score.makespan);
  return pairs;
}

TEST(OverfullFront, KeepsWhatNothingBeats) {
  OverfullFront front(9, 1);
  for (const auto& [overflow, makespan] : Pairs{{5, 50}, {9, 10}, {7, 60}, {7, 30}, {5, 50}, {0, 1}, {6, 30}, {5, 55}}) {
    front.offer(with(overflow, makespan));
  }
  EXPECT_EQ(kept(front), (Pairs{{5, 50}, {6, 30}, {9, 10}}));
  front.offer(with(5, 40));
  front.offer(with(2, 90));
  EXPECT_EQ(kept(front), (Pairs{{2, 90}, {5, 40}, {6, 30}, {9, 10}}));
  front.offer(with(1, 5));
  EXPECT_EQ(kept(front), (Pairs{{1, 5}}));
}

TEST(OverfullFront, DropsTheLeastDifferentOneAndKeepsTheEnds) {
  OverfullFront front(3, 1);
  for (const auto& [overflow, makespan] : Pairs{{1, 100}, {2, 95}, {9, 10}, {4, 50}}) front.offer(with(overflow, makespan));
  EXPECT_EQ(kept(front), (Pairs{{1, 100}, {4, 50}, {9, 10}}));
  OverfullFront two(2, 1);
  for (const auto& [overflow, makespan] : Pairs{{4, 50}, {1, 100}, {9, 10}}) two.offer(with(overflow, makespan));
  EXPECT_EQ(kept(two), (Pairs{{1, 100}, {9, 10}}));
  OverfullFront one(1, 1);
  for (const auto& [overflow, makespan] : Pairs{{4, 50}, {1, 100}}) one.offer(with(overflow, makespan));
  EXPECT_EQ(kept(one), (Pairs{{1, 100}}));
}

// {7, 40} is beaten once, by {6, 30}; {6, 60} and {8, 70} twice or more.
TEST(OverfullFront, MayKeepWhatLiesJustBehind) {
  OverfullFront front(9, 2);
  for (const auto& [overflow, makespan] : Pairs{{5, 50}, {8, 70}, {6, 60}, {6, 30}, {7, 40}, {9, 10}}) front.offer(with(overflow, makespan));
  EXPECT_EQ(kept(front), (Pairs{{5, 50}, {6, 30}, {7, 40}, {9, 10}}));
  OverfullFront three(3, 2);
  for (const auto& [overflow, makespan] : Pairs{{5, 50}, {6, 30}, {7, 40}, {9, 10}}) three.offer(with(overflow, makespan));
  EXPECT_EQ(kept(three), (Pairs{{5, 50}, {6, 30}, {9, 10}}));
}

TEST(OverfullFront, ForgetsWhatIsNoShorterThanAFit) {
  OverfullFront front(9, 1);
  for (const auto& [overflow, makespan] : Pairs{{1, 100}, {4, 50}, {9, 10}}) front.offer(with(overflow, makespan));
  front.drop_slower(50);
  EXPECT_EQ(kept(front), (Pairs{{9, 10}}));
  front.drop_slower(10);
  EXPECT_TRUE(front.empty());
}

}  // namespace
}  // namespace pardnn
