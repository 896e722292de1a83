#include "parallel/in_order.hpp"

#include <atomic>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>
#include <omp.h>

namespace pardnn {
namespace {

/// Work that takes longer for some steps, so that they end out of order.
std::int64_t slow_square(std::int64_t i) {
  volatile std::int64_t spun = 0;
  for (std::int64_t n = 0; n < (i * 7919) % 13 * 2000; ++n) spun = spun + 1;
  return i * i;
}

TEST(MakeInOrder, TakesResultsInOrderOnAnyNumberOfThreads) {
  const ThreadScope threads(8);
  for (const int width : {1, 2, 3, 8}) {
    std::vector<std::int64_t> taken;
    make_in_order(500, width, slow_square, [&](std::int64_t i, std::int64_t square) {
      EXPECT_EQ(square, i * i);
      taken.push_back(i);
      return true;
    });
    ASSERT_EQ(taken.size(), 500u);
    for (std::size_t i = 0; i < taken.size(); ++i) EXPECT_EQ(taken[i], static_cast<std::int64_t>(i));
  }
}

TEST(MakeInOrder, EndsAfterTheStepThatSaysSo) {
  const ThreadScope threads(4);
  for (const int width : {1, 4}) {
    std::atomic<std::int64_t> made = 0;
    std::int64_t last = -1;
    make_in_order(
        1000, width,
        [&](std::int64_t i) {
          ++made;
          return slow_square(i);
        },
        [&](std::int64_t i, std::int64_t) {
          last = i;
          return i < 20;
        });
    EXPECT_EQ(last, 20);
    EXPECT_LE(made, 21 + 2 * width);  // no more than what was under way
  }
}

TEST(MakeInOrder, StepsBesideOthersHaveOneOpenMpThread) {
  const ThreadScope threads(4);
  make_in_order(
      40, 4, [](std::int64_t) { return omp_get_max_threads(); },
      [](std::int64_t, int openmp) {
        EXPECT_EQ(openmp, 1);
        return true;
      });
  make_in_order(
      1, 4, [](std::int64_t) { return omp_get_max_threads(); },
      [](std::int64_t, int openmp) {
        EXPECT_EQ(openmp, 4);  // alone: it may use them all
        return true;
      });
  EXPECT_EQ(omp_get_max_threads(), 4);
}

TEST(MakeInOrder, HandsExceptionsOn) {
  const ThreadScope threads(4);
  const auto fails = [](std::int64_t i) {
    if (i == 7) throw std::runtime_error("seven");
    return i;
  };
  for (const int width : {1, 4}) {
    EXPECT_THROW(make_in_order(100, width, fails, [](std::int64_t, std::int64_t) { return true; }), std::runtime_error);
  }
}

TEST(MakeInOrder, NothingToDo) {
  make_in_order(0, 4, slow_square, [](std::int64_t, std::int64_t) {
    ADD_FAILURE();
    return true;
  });
}

TEST(SideBySide, LargeInputsGetFewer) {
  const ThreadScope threads(8);
  EXPECT_EQ(side_by_side(1'000), 1);
  EXPECT_EQ(side_by_side(5'000), 8);
  EXPECT_EQ(side_by_side(6'000'000), 4);
  EXPECT_EQ(side_by_side(1'000'000'000), 1);
  EXPECT_EQ(side_by_side(0), 1);
}

TEST(Spares, LendsWhatWasGivenBack) {
  Spares<int> spares;
  int created = 0;
  const auto create = [&] { return std::make_unique<int>(++created); };
  {
    const auto first = spares.lend(create), second = spares.lend(create);
    EXPECT_NE(*first, *second);
  }
  for (int i = 0; i < 10; ++i) EXPECT_GT(*spares.lend(create), 0);
  EXPECT_EQ(created, 2);
}

}  // namespace
}  // namespace pardnn
