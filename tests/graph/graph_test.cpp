#include "pardnn/graph.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <tuple>

#include "graph/topological_order.hpp"
#include "graph/units.hpp"
#include "pardnn/error.hpp"
#include "support/oracle.hpp"
#include "support/random_graphs.hpp"
#include "support/random_machines.hpp"

namespace pardnn {
namespace {

using test::GraphBuilder;
using Ids = std::vector<std::int64_t>;

Ids file_ids(const Graph& graph) {
  Ids ids;
  for (NodeId v = 0; v < graph.num_nodes(); ++v) ids.push_back(graph.file_id(v));
  return ids;
}

//   file ids: t 0, a 1, b 2, s 3        depth: s 0, z 0, a 1, y 1, b 2, t 3
//   s -> a -> b -> t, s -> b; z -> y    z 4, y 5 (second component)
TEST(Graph, NumbersNodesByDepthThenFileId) {
  GraphBuilder g;
  g.node("t", 1).node("a", 2).node("b", 3).node("s", 4).node("z", 5).node("y", 6);
  g.edge("s", "a", 1).edge("a", "b", 2).edge("b", "t", 3).edge("s", "b", 4).edge("z", "y", 5);
  const Graph graph(g.data());
  EXPECT_EQ(file_ids(graph), (Ids{3, 4, 1, 5, 2, 0}));
  EXPECT_FALSE(graph.is_identity());
  ASSERT_EQ(graph.num_depths(), 4);
  EXPECT_EQ(graph.depth_begin(0), 0);
  EXPECT_EQ(graph.depth_end(0), 2);
  EXPECT_EQ(graph.depth_end(1), 4);
  EXPECT_EQ(graph.depth_end(2), 5);
  EXPECT_EQ(graph.depth_end(3), 6);
  EXPECT_EQ(graph.comp(0), 4);
  EXPECT_EQ(graph.comp(5), 1);
  EXPECT_EQ(graph.total_comp(), 21);
  EXPECT_EQ(graph.total_bytes(), 15);
  // s's successors in the order of their file ids: a (internal 2), b (internal 4).
  ASSERT_EQ(graph.out_degree(0), 2);
  EXPECT_EQ(graph.target(graph.out_begin(0)), 2);
  EXPECT_EQ(graph.bytes(graph.out_begin(0)), 1);
  EXPECT_EQ(graph.target(graph.out_begin(0) + 1), 4);
  EXPECT_EQ(graph.bytes(graph.out_begin(0) + 1), 4);
  // b's predecessors: s by edge 1, then a.
  ASSERT_EQ(graph.in_degree(4), 2);
  EXPECT_EQ(graph.source(graph.in_begin(4)), 0);
  EXPECT_EQ(graph.in_edge(graph.in_begin(4)), 1);
  EXPECT_EQ(graph.source(graph.in_begin(4) + 1), 2);
}

TEST(Graph, KeepsANumberingThatIsRightAlready) {
  const Graph graph(test::chain(5));
  EXPECT_TRUE(graph.is_identity());
  EXPECT_EQ(file_ids(graph), (Ids{0, 1, 2, 3, 4}));
  EXPECT_EQ(graph.num_depths(), 5);
}

TEST(Graph, EmptyAndIsolated) {
  for (const Graph& graph : {Graph(), Graph(GraphData{})}) {
    EXPECT_EQ(graph.num_nodes(), 0);
    EXPECT_EQ(graph.num_edges(), 0);
    EXPECT_EQ(graph.num_units(), 0);
    EXPECT_EQ(graph.num_depths(), 0);
  }
  GraphBuilder g;
  g.node("a", 1).node("b", 2);
  const Graph isolated(g.data());
  EXPECT_EQ(isolated.num_depths(), 1);
  EXPECT_EQ(isolated.num_units(), 2);
  EXPECT_TRUE(isolated.units_are_nodes());
  EXPECT_EQ(isolated.unit_nodes(1).front(), 1);
}

// a -> b three times (3, 4, 0) and a -> c: without outputs bytes are added.
TEST(Graph, AddsParallelEdgesWithoutOutputs) {
  GraphBuilder g;
  g.node("a", 1).node("b", 1).node("c", 1);
  g.edge("a", "b", 3).edge("a", "c", 9).edge("a", "b", 4).edge("a", "b", 0);
  const Graph graph(g.data());
  ASSERT_EQ(graph.num_edges(), 2);
  EXPECT_EQ(graph.target(0), 1);
  EXPECT_EQ(graph.bytes(0), 7);
  EXPECT_EQ(graph.bytes(1), 9);
  EXPECT_EQ(graph.in_degree(1), 1);
  EXPECT_FALSE(graph.has_outputs());
  EXPECT_EQ(graph.total_bytes(), 16);
}

// With outputs: (a, 900, b) twice is one edge of the greatest bytes; (a, 5, b) stays apart. Ranks: 5 -> 0, 900 -> 1.
// b's outputs have ranks of their own: 7 -> 0.
TEST(Graph, KeepsTheGreatestOfParallelEdgesOfOneOutput) {
  GraphBuilder g;
  g.node("a", 1).node("b", 1).node("c", 1);
  g.edge("a", "b", 3, 900).edge("a", "b", 8, 900).edge("a", "b", 2, 5).edge("a", "c", 1, 900).edge("b", "c", 6, 7);
  const Graph graph(g.data());
  ASSERT_EQ(graph.num_edges(), 4);
  ASSERT_TRUE(graph.has_outputs());
  const std::vector<std::tuple<NodeId, std::int32_t, Bytes>> expected{{1, 0, 2}, {1, 1, 8}, {2, 1, 1}, {2, 0, 6}};
  for (EdgeId e = 0; e < 4; ++e) EXPECT_EQ(std::make_tuple(graph.target(e), graph.output(e), graph.bytes(e)), expected[e]);
}

// Groups {a, c}, view d of b, view e of d, and c, d joined by another group: one unit {a, c} and b, d, e by the chain;
// pinned by e alone, so all of it.
TEST(Graph, JoinsGroupsAndViewsToUnits) {
  GraphBuilder g;
  g.node("a", 1).node("b", 1).node("f", 1).node("c", 1).node("d", 1).node("e", 1).node("h", 1);
  g.colocate({"a", "c"}).alias("d", "b").alias("e", "d").pin("e", 3).pin("h", 0);
  const Graph graph(g.data());
  EXPECT_FALSE(graph.units_are_nodes());
  ASSERT_EQ(graph.num_units(), 4);
  const auto members = [&](UnitId u) { return Ids(graph.unit_nodes(u).begin(), graph.unit_nodes(u).end()); };
  EXPECT_EQ(members(0), (Ids{0, 3}));
  EXPECT_EQ(members(1), (Ids{1, 4, 5}));
  EXPECT_EQ(members(2), (Ids{2}));
  EXPECT_EQ(members(3), (Ids{6}));
  EXPECT_EQ(graph.root(5), 1);
  EXPECT_EQ(graph.root(4), 1);
  EXPECT_EQ(graph.root(1), 1);
  EXPECT_TRUE(graph.has_aliases());
  EXPECT_EQ(graph.unit_fixed(0), kNoDevice);
  EXPECT_EQ(graph.unit_fixed(1), 3);
  EXPECT_EQ(graph.fixed(1), 3);
  EXPECT_EQ(graph.fixed(6), 0);
  EXPECT_EQ(graph.greatest_fixed(), 3);
  ASSERT_EQ(graph.pins().size(), 2U);
  EXPECT_EQ(graph.pins()[0].node, 5);
  EXPECT_EQ(graph.pins()[0].device, 3);
  EXPECT_EQ(graph.num_groups(), 1);
  EXPECT_EQ(graph.group(0), 0);
  EXPECT_EQ(graph.group(3), 0);
  EXPECT_EQ(graph.group(1), -1);
}

// A view chain of 200,000 nodes whose bases have higher ids than their views: found without recursion, in linear time.
TEST(Graph, FindsRootsOfLongChains) {
  constexpr std::int64_t kNodes = 200'000;
  GraphData data;
  data.indptr.assign(kNodes + 1, 0);
  data.comp.assign(kNodes, 1);
  data.mem.assign(kNodes, 1);
  for (std::int64_t v = 0; v < kNodes; ++v) data.alias.push_back(v + 1 < kNodes ? v + 1 : -1);
  const Graph graph(std::move(data));
  EXPECT_EQ(graph.num_units(), 1);
  for (NodeId v = 0; v < kNodes; ++v) ASSERT_EQ(graph.root(v), kNodes - 1);
}

TEST(Graph, RefusesIllegalData) {
  GraphData cyclic = test::chain(2);
  cyclic.indices = {1, 0};
  cyclic.bytes = {1, 1};
  cyclic.indptr = {0, 1, 2};
  EXPECT_THROW(Graph{cyclic}, InputError);
  GraphData shorter = test::chain(3);
  shorter.comp.pop_back();
  EXPECT_THROW(Graph{shorter}, InputError);
}

TEST(Graph, SharesItsArraysWithCopies) {
  const Graph graph(test::chain(4));
  const Graph copy = graph;
  EXPECT_EQ(copy.targets().data(), graph.targets().data());
  EXPECT_EQ(copy.num_nodes(), 4);
}

/// Depth by relaxation.
Ids slow_depths(const GraphData& data, const std::vector<test::OracleEdge>& edges) {
  Ids depth(data.num_nodes(), 0);
  for (bool changed = true; changed;) {
    changed = false;
    for (const test::OracleEdge& e : edges) {
      if (depth[e.to] > depth[e.from]) continue;
      depth[e.to] = depth[e.from] + 1;
      changed = true;
    }
  }
  return depth;
}

void check_numbering(const GraphData& data, const Graph& graph, const std::vector<test::OracleEdge>& edges) {
  const Ids depth = slow_depths(data, edges);
  std::vector<std::pair<std::int64_t, std::int64_t>> expected;
  for (std::int64_t n = 0; n < data.num_nodes(); ++n) expected.emplace_back(depth[n], n);
  std::sort(expected.begin(), expected.end());
  for (NodeId v = 0; v < graph.num_nodes(); ++v) ASSERT_EQ(graph.file_id(v), expected[v].second);
  for (std::int64_t d = 0; d < graph.num_depths(); ++d) {
    for (NodeId v = graph.depth_begin(d); v < graph.depth_end(d); ++v) ASSERT_EQ(depth[graph.file_id(v)], d);
  }
}

void check_edges(const Graph& graph, const std::vector<test::OracleEdge>& edges) {
  ASSERT_EQ(graph.num_edges(), static_cast<EdgeId>(edges.size()));
  std::map<std::int64_t, std::set<std::int64_t>> outputs;
  for (const test::OracleEdge& e : edges) outputs[e.from].insert(e.output);
  std::vector<std::tuple<std::int64_t, std::int64_t, std::int32_t, Bytes>> expected, found;
  for (const test::OracleEdge& e : edges) {
    const std::set<std::int64_t>& of_source = outputs[e.from];
    const auto rank = std::distance(of_source.begin(), of_source.find(e.output));
    expected.emplace_back(e.from, e.to, static_cast<std::int32_t>(rank), e.bytes);
  }
  std::vector<EdgeId> seen;
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    for (EdgeId e = graph.out_begin(v); e < graph.out_end(v); ++e) {
      ASSERT_LT(v, graph.target(e));
      found.emplace_back(graph.file_id(v), graph.file_id(graph.target(e)), graph.output(e), graph.bytes(e));
      if (e > graph.out_begin(v)) {
        ASSERT_LT(std::make_tuple(graph.file_id(graph.target(e - 1)), graph.output(e - 1)),
                  std::make_tuple(graph.file_id(graph.target(e)), graph.output(e)));
      }
    }
    for (EdgeId i = graph.in_begin(v); i < graph.in_end(v); ++i) {
      const EdgeId e = graph.in_edge(i);
      ASSERT_EQ(graph.target(e), v);
      ASSERT_GE(e, graph.out_begin(graph.source(i)));
      ASSERT_LT(e, graph.out_end(graph.source(i)));
      if (i > graph.in_begin(v)) {
        ASSERT_LT(graph.in_edge(i - 1), e);
      }
      seen.push_back(e);
    }
  }
  std::sort(found.begin(), found.end());
  std::sort(seen.begin(), seen.end());
  ASSERT_EQ(found, expected);
  for (std::size_t e = 0; e < seen.size(); ++e) ASSERT_EQ(seen[e], static_cast<EdgeId>(e));
}

void check_units(const GraphData& data, const Graph& graph) {
  const Ids lowest = test::tied_to(data);
  UnitId next = 0;
  std::map<std::int64_t, UnitId> unit_of;
  std::map<UnitId, Ids> members;
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    const auto [at, fresh] = unit_of.emplace(lowest[graph.file_id(v)], next);
    if (fresh) ++next;
    ASSERT_EQ(graph.unit(v), at->second);
    members[at->second].push_back(v);
  }
  ASSERT_EQ(graph.num_units(), next);
  for (const auto& entry : members) {
    const auto nodes = graph.unit_nodes(entry.first);
    ASSERT_EQ(Ids(nodes.begin(), nodes.end()), entry.second);
    DeviceId fixed = kNoDevice;
    for (const NodeId v : entry.second) {
      if (data.fixed[graph.file_id(v)] >= 0) fixed = static_cast<DeviceId>(data.fixed[graph.file_id(v)]);
    }
    ASSERT_EQ(graph.unit_fixed(entry.first), fixed);
    for (const NodeId v : entry.second) ASSERT_EQ(graph.fixed(v), fixed);
  }
  std::map<std::int64_t, std::int32_t> group_of;
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    const std::int64_t n = graph.file_id(v), group = data.colocation[n];
    ASSERT_EQ(graph.group(v) >= 0, group >= 0);
    if (group >= 0) {
      ASSERT_EQ(group_of.emplace(group, graph.group(v)).first->second, graph.group(v));
    }
    std::int64_t root = n;
    while (data.alias[root] >= 0) root = data.alias[root];
    ASSERT_EQ(graph.file_id(graph.root(v)), root);
    ASSERT_EQ(graph.comp(v), data.comp[n]);
    ASSERT_EQ(graph.mem(v), data.mem[n]);
    ASSERT_EQ(graph.temp(v), data.temp[n]);
    ASSERT_EQ(static_cast<std::int64_t>(graph.kind(v)), data.kind[n]);
  }
  ASSERT_EQ(static_cast<std::size_t>(graph.num_groups()), group_of.size());
}

TEST(Graph, EqualsTheFileOnRandomGraphs) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const GraphData data = test::random_case(seed).data;
    const Graph graph(data);
    ASSERT_EQ(graph.num_nodes(), data.num_nodes());
    const std::vector<test::OracleEdge> edges = test::oracle_edges(data);
    check_numbering(data, graph, edges);
    check_edges(graph, edges);
    check_units(data, graph);
    if (HasFailure()) break;
    Ids values;
    for (std::int64_t n = 0; n < data.num_nodes(); ++n) values.push_back(7 * n - 3);
    const Ids internal = graph.to_internal(std::span<const std::int64_t>(values));
    for (NodeId v = 0; v < graph.num_nodes(); ++v) ASSERT_EQ(internal[v], 7 * graph.file_id(v) - 3);
    ASSERT_EQ(graph.to_file_order(std::span<const std::int64_t>(internal)), values);
  }
}

TEST(TopologicalOrder, ReportsACycleAsNoOrder) {
  EXPECT_TRUE(topological_order(Ids{0, 1, 2}, Ids{1, 0}).order.empty());
  EXPECT_EQ(topological_order(Ids{0, 0, 1}, Ids{0}).order, (Ids{1, 0}));
  EXPECT_TRUE(topological_order(Ids{0}, Ids{}).order.empty());
}

TEST(TopologicalOrder, DoesNotRecurse) {
  constexpr std::int64_t kNodes = 1'000'000;  // n-1 -> n-2 -> ... -> 0
  Ids indptr{0, 0}, indices;
  for (std::int64_t v = 1; v < kNodes; ++v) {
    indices.push_back(v - 1);
    indptr.push_back(v);
  }
  const TopologicalOrder topology = topological_order(indptr, indices);
  ASSERT_EQ(topology.order.size(), static_cast<std::size_t>(kNodes));
  EXPECT_EQ(topology.order.front(), kNodes - 1);
  EXPECT_EQ(topology.depth_offsets.size(), static_cast<std::size_t>(kNodes) + 1);
}

TEST(DisjointSets, RepresentativeIsTheLeastElement) {
  DisjointSets sets(6);
  sets.join(5, 4);
  sets.join(4, 2);
  sets.join(3, 3);
  EXPECT_EQ(sets.find(5), 2);
  EXPECT_EQ(sets.find(2), 2);
  EXPECT_EQ(sets.find(3), 3);
  EXPECT_EQ(sets.find(0), 0);
}

}  // namespace
}  // namespace pardnn
