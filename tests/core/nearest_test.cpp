#include "core/nearest.hpp"

#include <array>

#include <gtest/gtest.h>

namespace pardnn {
namespace {

TEST(Nearest, EditDistanceCountsInsertionsDeletionsReplacements) {
  EXPECT_EQ(edit_distance("", ""), 0);
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("memroy", "memory"), 2);
}

TEST(Nearest, PicksTheNearestWord) {
  constexpr std::array<std::string_view, 3> words{"latency", "bandwidth", "memory"};
  EXPECT_EQ(nearest("memroy", words), "memory");
  EXPECT_EQ(nearest("bandwith", words), "bandwidth");
  EXPECT_EQ(nearest("band", words), "bandwidth");
  EXPECT_EQ(nearest("x", {}), "");
  EXPECT_EQ(listed(words), "latency, bandwidth, memory");
}

}  // namespace
}  // namespace pardnn
