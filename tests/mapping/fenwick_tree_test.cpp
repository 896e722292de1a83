#include "mapping/fenwick_tree.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "support/random_graphs.hpp"

namespace pardnn {
namespace {

TEST(FenwickTree, SumsRanges) {
  FenwickTree<std::int64_t> tree(5);
  for (std::int64_t i = 0; i < 5; ++i) tree.add(i, 10 * i + 1);  // 1 11 21 31 41
  EXPECT_EQ(tree.range(0, 5), 105);
  EXPECT_EQ(tree.range(1, 3), 32);
  EXPECT_EQ(tree.range(4, 5), 41);
  EXPECT_EQ(tree.range(2, 2), 0);
  tree.add(2, -21);
  EXPECT_EQ(tree.range(1, 4), 42);
}

TEST(FenwickTree, RandomUpdatesAgreeWithPlainSums) {
  test::TestRandom random(1);
  for (std::int64_t size = 1; size <= 40; ++size) {
    for (const std::int64_t width : {1, 3}) {
      FenwickTree<std::int64_t> tree(size, width);
      std::vector<std::vector<std::int64_t>> plain(width, std::vector<std::int64_t>(size, 0));
      for (int step = 0; step < 100; ++step) {
        const std::int64_t position = random.below(size), column = random.below(width), delta = random.below(1'000'001) - 500'000;
        tree.add(position, column, delta);
        plain[column][position] += delta;
        std::int64_t from = random.below(size + 1), to = random.below(size + 1);
        if (from > to) std::swap(from, to);
        std::vector<std::int64_t> sums(width, 7);
        tree.add_range(from, to, sums);
        for (std::int64_t c = 0; c < width; ++c) {
          const std::int64_t expected = std::accumulate(plain[c].begin() + from, plain[c].begin() + to, std::int64_t{0});
          ASSERT_EQ(sums[c], 7 + expected);
          if (c == 0) {
            ASSERT_EQ(tree.range(from, to), expected);
          }
        }
      }
    }
  }
}

TEST(FenwickTree, HoldsNothingWhenEmpty) {
  const FenwickTree<std::int64_t> tree(0, 4);
  EXPECT_EQ(tree.size(), 0);
  EXPECT_EQ(tree.width(), 4);
  EXPECT_EQ(tree.range(0, 0), 0);
}

TEST(FenwickTree, SumsPass32Bits) {
  FenwickTree<std::int64_t> tree(3);
  tree.add(0, std::int64_t{1} << 60);
  tree.add(2, std::int64_t{1} << 60);
  EXPECT_EQ(tree.range(0, 3), std::int64_t{1} << 61);
}

}  // namespace
}  // namespace pardnn
