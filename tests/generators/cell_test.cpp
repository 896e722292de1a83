#include "generators/cell.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

namespace pardnn {
namespace {

/// What a node reads, as text: "node", "port0", "parameter0", "gradient0", "previous0".
std::set<std::string> reads(const Cell& cell, const std::string& name) {
  static const std::map<Cell::From, std::string> words = {{Cell::From::port, "port"},
                                                          {Cell::From::parameter, "parameter"},
                                                          {Cell::From::gradient, "gradient"},
                                                          {Cell::From::previous, "previous"}};
  std::set<std::string> found;
  for (const Cell::Node& node : cell.nodes) {
    if (node.name != name) continue;
    for (const Cell::Input input : node.inputs) {
      found.insert(input.from == Cell::From::inner ? cell.nodes[input.index].name : words.at(input.from) + std::to_string(input.index));
    }
  }
  return found;
}

std::set<std::string> names(const Cell& cell) {
  std::set<std::string> found;
  for (const Cell::Node& node : cell.nodes) found.insert(node.name);
  return found;
}

using Strings = std::set<std::string>;

// port -> matmul (W) -> relu -> output
TEST(Cell, DenseLayerHasItsThreeGradients) {
  CellBuilder builder("dense");
  const CellValue product = builder.weighted("matmul", builder.port(400), 100, 2000, 100);
  const Cell cell = builder.finish({builder.unary("relu", Gradient::by_output, product, 100)}, false);

  EXPECT_EQ(names(cell), (Strings{"matmul", "relu", "grad/relu/input", "grad/matmul/weight", "grad/matmul/input"}));
  EXPECT_EQ(cell.num_forward, 2);
  EXPECT_EQ(reads(cell, "matmul"), (Strings{"port0", "parameter0"}));
  EXPECT_EQ(reads(cell, "grad/relu/input"), (Strings{"gradient0", "relu"}));
  EXPECT_EQ(reads(cell, "grad/matmul/weight"), (Strings{"grad/relu/input", "port0"}));
  EXPECT_EQ(reads(cell, "grad/matmul/input"), (Strings{"grad/relu/input", "parameter0"}));
  EXPECT_EQ(cell.nodes[cell.port_gradients[0]].name, "grad/matmul/input");
  EXPECT_EQ(cell.nodes[cell.parameters[0].gradient].name, "grad/matmul/weight");
  EXPECT_EQ(cell.nodes[cell.parameters[0].gradient].bytes, 400);
  EXPECT_EQ(cell.gradient_readers, (std::vector<std::vector<int>>{{2}}));
}

// port -> gelu -> sum(port, gelu): the port's gradient is the incoming one and that through gelu.
TEST(Cell, SkipConnectionSumsGradients) {
  CellBuilder builder("skip");
  const CellValue input = builder.port(400);
  const CellValue active = builder.unary("gelu", Gradient::by_input, input, 100);
  const Cell cell = builder.finish({builder.sum("residual", {input, active}, 100)}, false);
  EXPECT_EQ(names(cell), (Strings{"gelu", "residual", "grad/gelu/input", "grad/port0/sum"}));
  EXPECT_EQ(reads(cell, "grad/gelu/input"), (Strings{"gradient0", "port0"}));
  EXPECT_EQ(reads(cell, "grad/port0/sum"), (Strings{"gradient0", "grad/gelu/input"}));
}

TEST(Cell, NothingFlowsBackToASource) {
  CellBuilder builder("first");
  const CellValue batch = builder.source("batch", 100);
  const CellValue product = builder.weighted("matmul", batch, 100, 2000, 100);
  const Cell cell = builder.finish({builder.unary("relu", Gradient::by_output, product, 100)}, false);
  EXPECT_EQ(names(cell), (Strings{"batch", "matmul", "relu", "grad/relu/input", "grad/matmul/weight"}));
}

TEST(Cell, LossStartsTheBackwardPass) {
  CellBuilder builder("loss");
  const CellValue scores = builder.weighted("logits", builder.port(400), 100, 2000, 100);
  builder.operation({"loss", Gradient::loss, {scores, builder.source("labels", 10)}, 5, 400});
  const Cell cell = builder.finish({}, false);
  EXPECT_EQ(reads(cell, "grad/loss/input"), (Strings{"loss"}));
  EXPECT_EQ(reads(cell, "loss"), (Strings{"logits", "labels"}));
}

TEST(Cell, CopiesAccumulateTheirParameterGradients) {
  CellBuilder builder("dense");
  const CellValue product = builder.weighted("matmul", builder.port(400), 100, 2000, 100);
  const Cell cell = builder.finish({builder.unary("relu", Gradient::by_output, product, 100)}, true);
  EXPECT_EQ(reads(cell, "grad/matmul/weight/sum"), (Strings{"grad/matmul/weight", "previous0"}));
  EXPECT_EQ(cell.nodes[cell.parameters[0].gradient].name, "grad/matmul/weight/sum");
}

TEST(Cell, ViewsShareTheBufferOfTheirBase) {
  CellBuilder builder("split");
  const CellValue joined = builder.weighted("joined", builder.port(400), 200, 2000, 200);
  const CellValue left = builder.view("left", joined, 100), right = builder.view("right", joined, 100);
  const Cell cell = builder.finish({builder.times("product", left, right, 100)}, false);
  EXPECT_EQ(cell.nodes[1].alias, 0);
  EXPECT_EQ(cell.nodes[2].alias, 0);
  EXPECT_EQ(reads(cell, "grad/product/left"), (Strings{"gradient0", "right"}));
  EXPECT_EQ(reads(cell, "grad/product/right"), (Strings{"gradient0", "left"}));
  EXPECT_EQ(reads(cell, "grad/joined/sum"), (Strings{"grad/product/left", "grad/product/right"}));
}

TEST(Cell, RefusesAnUnreadParameterAndADeadValue) {
  CellBuilder unread("unread");
  unread.parameter("never", 4);
  EXPECT_THROW(unread.finish({}, false), std::logic_error);
  CellBuilder dead("dead");
  dead.unary("relu", Gradient::by_output, dead.port(400), 100);
  EXPECT_THROW(dead.finish({}, false), std::logic_error);
}

}  // namespace
}  // namespace pardnn
