#include "bounds/one_device.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "support/random_graphs.hpp"

namespace pardnn {
namespace {

Nanoseconds bound_of(std::vector<Job> jobs) { return one_device_bound(jobs); }

TEST(OneDevice, NothingTakesNoTime) { EXPECT_EQ(bound_of({}), 0); }

TEST(OneDevice, OneJobIsItsOwnPath) { EXPECT_EQ(bound_of({{3, 4, 5}}), 12); }

TEST(OneDevice, TheLongerTailGoesFirst) {
  EXPECT_EQ(bound_of({{0, 5, 0}, {0, 5, 9}}), 14);
  EXPECT_EQ(bound_of({{0, 5, 4}, {0, 5, 9}}), 14);
  EXPECT_EQ(bound_of({{0, 5, 8}, {0, 5, 9}}), 18);
}

TEST(OneDevice, AJobIsInterruptedByOneWithALongerTail) { EXPECT_EQ(bound_of({{0, 10, 0}, {2, 3, 20}}), 25); }

// Against every order and every subset of small random cases.
TEST(OneDevice, IsTheGreatestIntervalAndBelowEveryOrder) {
  test::TestRandom random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<Job> jobs;
    for (std::int64_t i = 1 + random.below(6); i > 0; --i) {
      const std::int64_t head = random.below(20), work = random.below(9), tail = random.below(20);
      jobs.push_back({head, work, tail});
    }
    std::vector<std::size_t> order(jobs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    Nanoseconds best = kNever;
    do {
      Nanoseconds time = 0, end = 0;
      for (const std::size_t i : order) {
        time = std::max(time, jobs[i].head) + jobs[i].work;
        end = std::max(end, time + jobs[i].tail);
      }
      best = std::min(best, end);
    } while (std::next_permutation(order.begin(), order.end()));
    Nanoseconds interval = 0;  // the bound is also the greatest min head + sum of work + min tail of any subset
    for (std::size_t set = 1; set < (std::size_t{1} << jobs.size()); ++set) {
      Nanoseconds head = kNever, tail = kNever, work = 0;
      for (std::size_t i = 0; i < jobs.size(); ++i) {
        if ((set >> i & 1) == 0) continue;
        head = std::min(head, jobs[i].head);
        tail = std::min(tail, jobs[i].tail);
        work += jobs[i].work;
      }
      interval = std::max(interval, head + work + tail);
    }
    EXPECT_EQ(bound_of(jobs), interval);
    EXPECT_LE(bound_of(jobs), best);
  }
}

}  // namespace
}  // namespace pardnn
