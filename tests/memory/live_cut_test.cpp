#include "memory/live_cut.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>

#include "support/random_graphs.hpp"

namespace pardnn {
namespace {

constexpr std::int64_t kAll = std::int64_t{1} << 50;

/// reaches[u][v]: a path of at least one edge leads from u to v.
std::vector<std::vector<bool>> reachability(const Graph& graph) {
  const std::size_t nodes = static_cast<std::size_t>(graph.num_nodes());
  std::vector<std::vector<bool>> reaches(nodes, std::vector<bool>(nodes, false));
  for (NodeId u = graph.num_nodes() - 1; u >= 0; --u) {
    for (EdgeId e = graph.out_begin(u); e < graph.out_end(u); ++e) {
      reaches[u][graph.target(e)] = true;
      for (std::size_t v = 0; v < nodes; ++v) reaches[u][v] = reaches[u][v] || reaches[graph.target(e)][v];
    }
  }
  return reaches;
}

/// What the head of live_cut.hpp says, node by node.
struct SlowCut {
  Bytes bytes = 0;
  std::map<NodeId, Bytes> pieces;
};

SlowCut slow_cut(const Graph& graph, const std::vector<std::vector<bool>>& reaches, NodeId n) {
  SlowCut cut;
  cut.bytes = graph.temp(n);
  for (NodeId r = 0; r < graph.num_nodes(); ++r) {
    if (graph.is_residual(r)) cut.bytes += graph.mem(r);
    if (graph.root(r) != r || graph.kind(r) != NodeKind::normal || (r != n && !reaches[r][n])) continue;
    bool whole = false;
    std::map<std::pair<NodeId, std::int32_t>, Bytes> copies;
    for (NodeId m = 0; m < graph.num_nodes(); ++m) {
      if (graph.root(m) != r) continue;
      whole = whole || m == n || reaches[n][m];
      for (EdgeId e = graph.out_begin(m); e < graph.out_end(m); ++e) {
        const NodeId u = graph.target(e);
        if (u == n || reaches[n][u]) copies[{m, graph.output(e)}] = std::max(copies[{m, graph.output(e)}], graph.bytes(e));
      }
    }
    Bytes sum = 0, greatest = 0;
    for (const auto& copy : copies) {
      sum += copy.second;
      greatest = std::max(greatest, copy.second);
    }
    cut.bytes += whole ? graph.mem(r) : std::min(sum, graph.mem(r));
    const Bytes piece = whole ? graph.mem(r) : std::min(greatest, graph.mem(r));
    if (piece > 0) cut.pieces[r] = piece;
  }
  return cut;
}

//   w(residual 100)
//   a(1, mem 10) --10B--> b(1, mem 7, temp 3) --4B--> c(1, mem 1),  a --6B--> c
//   While b runs: a's 10 (for b itself), b's own 7, its workspace 3: 20. While c runs: a's 6, b's 4, c's 1: 11.
TEST(LiveCuts, ByHand) {
  test::GraphBuilder g;
  g.node("w", 1, 100).kind("w", NodeKind::residual).node("a", 1, 10).node("b", 1, 7, 3).node("c", 1, 1);
  g.edge("a", "b", 10).edge("b", "c", 4).edge("a", "c", 6);
  const Graph graph(g.data());
  LiveCuts cuts(graph);
  const std::vector<LiveCut> found = cuts.greatest(kAll);
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(graph.file_id(found.front().node), g.id("b"));
  EXPECT_EQ(found.front().bytes, 120);
  std::vector<Bytes> sizes;
  NodeId c = 0;
  while (graph.file_id(c) != g.id("c")) ++c;
  for (const LivePiece& piece : cuts.pieces(c)) sizes.push_back(piece.bytes);
  std::sort(sizes.begin(), sizes.end());
  EXPECT_EQ(sizes, (std::vector<Bytes>{1, 4, 6}));
}

// A node with 100 bytes of output and a 10-byte edge across the cut: 10 bytes of copy may be all that is left of it.
TEST(LiveCuts, ACopyMayBeSmallerThanItsBuffer) {
  test::GraphBuilder g;
  g.node("a", 1, 100).node("n", 1).node("c", 1).edge("a", "n", 0).edge("n", "c", 0).edge("a", "c", 10);
  const Graph graph(g.data());
  LiveCuts cuts(graph);
  const std::vector<LiveCut> found = cuts.greatest(kAll);
  EXPECT_EQ(found.front().bytes, 100);  // while a itself runs
  const std::vector<LivePiece> pieces = cuts.pieces(1);
  ASSERT_EQ(pieces.size(), 1U);
  EXPECT_EQ(pieces.front().bytes, 10);
}

TEST(LiveCuts, NodesWithoutTimeHoldNothing) {
  test::GraphBuilder g;
  g.node("a", 0, 100).node("b", 0, 50).edge("a", "b", 100);
  const Graph graph(g.data());
  EXPECT_TRUE(LiveCuts(graph).greatest(kAll).empty());
  EXPECT_TRUE(LiveCuts(Graph()).greatest(kAll).empty());
}

/// With visits enough for every node the greatest cut is the greatest of all; every cut named is that of its node.
TEST(LiveCuts, AreWhatReachabilitySays) {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(seed);
    test::RandomGraphOptions options;
    options.nodes = 2 + static_cast<std::int64_t>(seed % 30);
    options.window = seed % 3 == 0 ? 4 : 0;
    options.outputs = seed % 2 == 0;
    options.aliased = seed % 5 == 0 ? 40 : 10;
    const Graph graph(test::random_graph_data(seed, options));
    const auto reaches = reachability(graph);
    Bytes greatest = 0;
    for (NodeId n = 0; n < graph.num_nodes(); ++n) {
      if (graph.comp(n) > 0) greatest = std::max(greatest, slow_cut(graph, reaches, n).bytes);
    }
    LiveCuts cuts(graph);
    const std::vector<LiveCut> found = cuts.greatest(kAll);
    ASSERT_EQ(found.empty() ? 0 : found.front().bytes, greatest);
    for (const LiveCut& cut : found) ASSERT_EQ(cut.bytes, slow_cut(graph, reaches, cut.node).bytes);
    const std::vector<LiveCut> one = LiveCuts(graph).greatest(1);
    ASSERT_EQ(one.size(), found.empty() ? 0U : 1U);
    for (NodeId n = 0; n < graph.num_nodes(); ++n) {
      std::map<NodeId, Bytes> pieces;
      for (const LivePiece& piece : cuts.pieces(n)) pieces[piece.root] = piece.bytes;
      ASSERT_EQ(pieces, slow_cut(graph, reaches, n).pieces);
    }
  }
}

}  // namespace
}  // namespace pardnn
