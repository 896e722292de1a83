/// METIS and Scotch, where they are built in.
#include <gtest/gtest.h>

#include <algorithm>

#include "baselines/baselines.hpp"
#include "construct/plan_checks.hpp"

namespace pardnn {
namespace {

class UndirectedCut : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    for (const Baseline& b : all_baselines()) {
      if (b.name == GetParam()) run_ = b.run;
    }
    if (run_ == nullptr) GTEST_SKIP() << GetParam() << " was not found when this was built";
  }
  std::vector<DeviceId> cut(const GraphData& data, const Machine& machine) {
    const Graph graph{GraphData(data)};
    const CostModel costs(graph, machine);
    return graph.to_file_order(std::span<const DeviceId>(run_(costs).device));
  }
  Constructed (*run_)(const CostModel&) = nullptr;
};

// Two cliques of 12 (heavy edges) with one light edge between them: each is a part.
TEST_P(UndirectedCut, CutsTheThinPlace) {
  std::vector<std::int64_t> from, to, bytes;
  for (std::int64_t half = 0; half < 2; ++half) {
    for (std::int64_t u = 0; u < 12; ++u) {
      for (std::int64_t v = u + 1; v < 12; ++v) from.push_back(12 * half + u), to.push_back(12 * half + v), bytes.push_back(1000);
    }
  }
  from.push_back(3), to.push_back(20), bytes.push_back(1);
  GraphData data = test::chain(24, 5);
  test::set_edges(data, 24, from, to, bytes);
  const std::vector<DeviceId> device = cut(data, test::byte_per_ns(2));
  for (int v = 0; v < 24; ++v) EXPECT_EQ(device[v], device[v / 12 * 12]) << v;
  EXPECT_NE(device[0], device[12]);
}

// Its own known failures: one part, more parts than vertices, no edges, all weights zero.
TEST_P(UndirectedCut, CornersOfThePartitioner) {
  EXPECT_EQ(cut(test::chain(6), test::byte_per_ns(1)), std::vector<DeviceId>(6, 0));
  EXPECT_EQ(cut(test::chain(3), test::byte_per_ns(8)).size(), 3U);
  GraphData loose = test::chain(20);
  test::set_edges(loose, 20, {}, {}, {});
  const std::vector<DeviceId> halves = cut(loose, test::byte_per_ns(2));
  EXPECT_EQ(std::count(halves.begin(), halves.end(), 0), 10);
  const std::vector<DeviceId> weightless = cut(test::chain(40, 0, 0), test::byte_per_ns(3));
  for (const DeviceId d : weightless) EXPECT_TRUE(d >= 0 && d < 3);
}

TEST_P(UndirectedCut, BalancesHugeWeights) {
  const std::vector<DeviceId> device = cut(test::chain(64, std::int64_t{1} << 50, std::int64_t{1} << 50), test::byte_per_ns(4));
  std::vector<int> count(4, 0);
  for (const DeviceId d : device) ++count[d];
  for (const int c : count) EXPECT_TRUE(c >= 12 && c <= 20) << c;
}

TEST_P(UndirectedCut, PinsHold) {
  GraphData data = test::chain(50, 2, 3);
  data.fixed.assign(50, -1);
  data.fixed[0] = 1;
  data.fixed[49] = 0;
  const std::vector<DeviceId> device = cut(data, test::byte_per_ns(2));
  EXPECT_EQ(device[0], 1);
  EXPECT_EQ(device[49], 0);
}

TEST_P(UndirectedCut, TheSameEveryTime) {
  const GraphData data = test::random_graph_data(11, test::RandomGraphOptions::plain(3000, 40));
  const std::vector<DeviceId> first = cut(data, test::byte_per_ns(7));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(cut(data, test::byte_per_ns(7)), first);
}

INSTANTIATE_TEST_SUITE_P(Libraries, UndirectedCut, ::testing::Values("metis", "scotch"));

}  // namespace
}  // namespace pardnn
