#include "generators/sizing.hpp"

#include <gtest/gtest.h>

#include "pardnn/error.hpp"

namespace pardnn {
namespace {

std::int64_t rectangle(Extent e) { return 10 + e.layers * (3 + 7 * e.copies); }

TEST(NearestExtent, KeepsWhatIsWanted) {
  const Extent both = nearest_extent(1'000'000, {5, 6}, 4, rectangle);
  EXPECT_EQ(both.layers, 5);
  EXPECT_EQ(both.copies, 6);
  EXPECT_EQ(nearest_extent(1'000, {5, 0}, 4, rectangle).layers, 5);
  EXPECT_EQ(nearest_extent(1'000, {0, 6}, 4, rectangle).copies, 6);
}

TEST(NearestExtent, TakesTheNearerOfTwoNeighbours) {
  // count({x, 1}) = 10 + 10 x
  EXPECT_EQ(nearest_extent(104, {0, 1}, 4, rectangle).layers, 9);
  EXPECT_EQ(nearest_extent(106, {0, 1}, 4, rectangle).layers, 10);
  EXPECT_EQ(nearest_extent(105, {0, 1}, 4, rectangle).layers, 9) << "the lower of two equally near";
}

TEST(NearestExtent, RatioShapesLargeGraphs) {
  const Extent extent = nearest_extent(10'000'000, {0, 0}, 4, rectangle);
  EXPECT_NEAR(static_cast<double>(rectangle(extent)), 1e7, 1e4);
  EXPECT_GT(extent.layers, 2 * extent.copies);
  EXPECT_LT(extent.layers, 8 * extent.copies);
}

TEST(NearestExtent, RefusesLessThanTheSmallest) {
  EXPECT_THROW(nearest_extent(10, {0, 0}, 4, rectangle), InputError);
  EXPECT_EQ(nearest_extent(20, {0, 0}, 4, rectangle).layers, 1);
}

TEST(Chosen, NamesTheFlag) {
  EXPECT_EQ(chosen(0, 7, 10, "--width"), 7);
  EXPECT_EQ(chosen(10, 7, 10, "--width"), 10);
  try {
    chosen(11, 7, 10, "--width");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "generate: --width 11 is not in 1 .. 10");
  }
}

}  // namespace
}  // namespace pardnn
