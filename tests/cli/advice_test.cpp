#include "cli/advice.hpp"

#include <gtest/gtest.h>

#include "support/random_graphs.hpp"

namespace pardnn::cli {
namespace {

LoadedGraph loaded(const test::GraphBuilder& builder) {
  LoadedGraph result;
  GraphData data = builder.data();
  result.names = data.names;
  result.graph = Graph(std::move(data));
  return result;
}

TEST(GraphAdvice, OneHeavyNodeIsNamedWithItsBound) {
  const LoadedGraph graph = loaded(test::GraphBuilder().node("big\"", 60).node("a", 20).node("b", 20));
  const std::vector<std::string> lines = graph_advice(graph, homogeneous_machine(4));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("'big\\x22' takes 60.0 % of all compute time"), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find("faster than 60 ns, an even share would be 25 ns"), std::string::npos) << lines[0];
}

TEST(GraphAdvice, EvenGraphsAndOneDeviceNeedNone) {
  EXPECT_TRUE(graph_advice(loaded(test::GraphBuilder().node("a", 5).node("b", 5)), homogeneous_machine(2)).empty());
  EXPECT_TRUE(graph_advice(loaded(test::GraphBuilder().node("a", 5)), homogeneous_machine(1)).empty());
  EXPECT_TRUE(graph_advice(LoadedGraph{}, homogeneous_machine(4)).empty());
}

TEST(PlacementAdvice, EmptyAndParameterFreeDevicesAreNamed) {
  const LoadedGraph graph = loaded(test::GraphBuilder().node("w", 0, 8).kind("w", NodeKind::residual).node("a", 1));
  Evaluation evaluation;
  evaluation.devices.resize(3);
  for (std::size_t d = 0; d < 3; ++d) evaluation.devices[d].name = "gpu" + std::to_string(d);
  evaluation.devices[0].nodes = 1;
  evaluation.devices[0].parameter_free = false;
  evaluation.devices[1].nodes = 1;
  const std::vector<std::string> lines = placement_advice(graph.graph, evaluation);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[0].find("1 of 3 devices have no node: gpu2"), std::string::npos) << lines[0];
  EXPECT_NE(lines[1].find("without parameters"), std::string::npos) << lines[1];
  EXPECT_NE(lines[1].find(": gpu1"), std::string::npos) << lines[1];
}

}  // namespace
}  // namespace pardnn::cli
