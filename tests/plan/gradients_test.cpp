#include "plan/gradients.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "support/random_graphs.hpp"

namespace pardnn {
namespace {

TEST(FindGradients, SizesAndWaves) {
  // w1, w2 parameters; g1 -> g2 -> a (view of g2) -> g3: g2 and g3 depend on reduced gradients, x on none.
  const GraphData data = test::GraphBuilder()
                             .node("x", 1, 5).node("w1", 0, 100).node("w2", 0, 60).node("g1", 1, 100).node("g2", 1, 0).node("a", 1, 0).node("g3", 1, 7)
                             .kind("w1", NodeKind::residual).kind("w2", NodeKind::residual)
                             .edge("x", "g1", 5).edge("g1", "g2", 100).edge("g2", "a", 60).edge("a", "g3", 60)
                             .data();
  const std::vector<std::int64_t> gradient_of{-1, -1, -1, 1, 2, -1, 1};
  const Graph graph(data);
  const std::vector<Gradient> gradients = find_gradients(graph, gradient_of);
  ASSERT_EQ(gradients.size(), 3u);
  const auto by_file_id = [&](std::int64_t id) {
    return *std::find_if(gradients.begin(), gradients.end(), [&](const Gradient& g) { return graph.file_id(g.node) == id; });
  };
  EXPECT_EQ(by_file_id(3).bytes, 100);
  EXPECT_EQ(by_file_id(4).bytes, 60) << "it names no size: its parameter's";
  EXPECT_EQ(by_file_id(6).bytes, 7);
  EXPECT_EQ(by_file_id(3).wave, 0);
  EXPECT_EQ(by_file_id(4).wave, 1);
  EXPECT_EQ(by_file_id(6).wave, 2);
}

TEST(FindGradients, NoneWithoutTheDataset) { EXPECT_TRUE(find_gradients(Graph(test::chain(5)), {}).empty()); }

}  // namespace
}  // namespace pardnn
