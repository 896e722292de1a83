#include "graph/graph_block.hpp"

#include <memory>

#include <gtest/gtest.h>

#include "support/random_graphs.hpp"

namespace pardnn::test {
namespace {

/// A block for `graph` on 64 bytes.
struct Block {
  explicit Block(const Graph& graph) : memory(block_bytes(graph) + 64) {
    void* begin = memory.data();
    std::size_t room = memory.size();
    bytes = {static_cast<std::byte*>(std::align(64, block_bytes(graph), begin, room)), block_bytes(graph)};
    write_block(graph, bytes);
  }
  std::vector<std::byte> memory;
  std::span<std::byte> bytes;
};

void expect_same(const Graph& a, const Graph& b) {
  ASSERT_EQ(a.num_nodes(), b.num_nodes());
  ASSERT_EQ(a.num_edges(), b.num_edges());
  ASSERT_EQ(a.num_units(), b.num_units());
  ASSERT_EQ(a.num_depths(), b.num_depths());
  EXPECT_EQ(a.name(), b.name());
  EXPECT_EQ(a.fingerprint(), b.fingerprint());
  EXPECT_EQ(a.samples_per_step(), b.samples_per_step());
  EXPECT_EQ(a.total_comp(), b.total_comp());
  EXPECT_EQ(a.total_bytes(), b.total_bytes());
  EXPECT_EQ(a.greatest_fixed(), b.greatest_fixed());
  EXPECT_EQ(a.num_groups(), b.num_groups());
  EXPECT_EQ(a.pins().size(), b.pins().size());
  for (NodeId v = 0; v < a.num_nodes(); ++v) {
    ASSERT_EQ(a.file_id(v), b.file_id(v));
    ASSERT_EQ(a.comp(v), b.comp(v));
    ASSERT_EQ(a.mem(v), b.mem(v));
    ASSERT_EQ(a.temp(v), b.temp(v));
    ASSERT_EQ(a.kind(v), b.kind(v));
    ASSERT_EQ(a.root(v), b.root(v));
    ASSERT_EQ(a.unit(v), b.unit(v));
    ASSERT_EQ(a.fixed(v), b.fixed(v));
    ASSERT_EQ(a.group(v), b.group(v));
    ASSERT_EQ(a.out_begin(v), b.out_begin(v));
    ASSERT_EQ(a.in_begin(v), b.in_begin(v));
  }
  for (EdgeId e = 0; e < a.num_edges(); ++e) {
    ASSERT_EQ(a.target(e), b.target(e));
    ASSERT_EQ(a.bytes(e), b.bytes(e));
    ASSERT_EQ(a.output(e), b.output(e));
    ASSERT_EQ(a.source(e), b.source(e));
    ASSERT_EQ(a.in_edge(e), b.in_edge(e));
  }
  for (UnitId u = 0; u < a.num_units(); ++u) {
    const auto first = a.unit_nodes(u), second = b.unit_nodes(u);
    ASSERT_TRUE(std::equal(first.begin(), first.end(), second.begin(), second.end()));
  }
}

TEST(GraphBlock, AViewIsTheGraph) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    RandomGraphOptions options;
    options.outputs = seed % 3 == 0;
    if (seed % 5 == 0) options = RandomGraphOptions::plain(40);
    GraphData data = random_graph_data(seed, options);
    data.name = "a name";
    data.samples_per_step = 7;
    const Graph graph(std::move(data));
    const Block block(graph);
    expect_same(graph, graph_of_block(block.bytes));
  }
}

TEST(GraphBlock, AViewOfTheEmptyGraph) {
  const Graph graph((GraphData()));
  const Block block(graph);
  expect_same(graph, graph_of_block(block.bytes));
}

TEST(GraphBlock, AViewLooksAtTheBlockItself) {
  const Graph graph(random_graph_data(3));
  const Block block(graph);
  const Graph view = graph_of_block(block.bytes), copy = view;
  const auto* begin = reinterpret_cast<const std::byte*>(copy.targets().data());
  EXPECT_GE(begin, block.bytes.data());
  EXPECT_LT(begin, block.bytes.data() + block.bytes.size());
}

}  // namespace
}  // namespace pardnn::test
