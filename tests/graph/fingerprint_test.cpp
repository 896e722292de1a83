#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "pardnn/graph.hpp"
#include "support/random_graphs.hpp"

namespace pardnn {
namespace {

// The constants were computed with another binding of libxxhash (Python's xxhash.xxh3_128 over struct.pack("<q...")),
// from the merged arrays written out by hand.

//   a -> b (3 and 4, parallel: 7), a -> c (control), b -> d (5), c -> d (2)
GraphData diamond() {
  test::GraphBuilder g;
  g.node("a", 1, 10).node("b", 2, 20).node("c", 3, 30, 5).node("d", 4, 40);
  g.edge("a", "b", 3).edge("a", "c", 0).edge("a", "b", 4).edge("b", "d", 5).edge("c", "d", 2);
  g.kind("a", NodeKind::residual).alias("d", "b").pin("d", 1);
  GraphData data = g.data();
  data.colocation = {7, -1, 7, -1};
  return data;
}

TEST(Fingerprint, OfASmallGraph) { EXPECT_EQ(Graph(diamond()).fingerprint(), "6af118ad4f1edffb4edd291fc306326a"); }

TEST(Fingerprint, OfTheEmptyGraph) { EXPECT_EQ(Graph(GraphData{}).fingerprint(), "10e45c7ce2292320743df94ee4c78a2a"); }

// Longer than any internal buffer; absent datasets count with their defaults.
TEST(Fingerprint, OfAChainOfAThousand) {
  EXPECT_EQ(Graph(test::chain(1000)).fingerprint(), "d7f7d28e2820bddf442fc6faca1e92a8");
}

TEST(Fingerprint, AbsentDatasetsEqualTheirDefaults) {
  GraphData data = test::chain(1000);
  data.output.assign(999, 0);
  data.temp.assign(1000, 0);
  data.kind.assign(1000, 0);
  data.colocation.assign(1000, -1);
  data.alias.assign(1000, -1);
  data.fixed.assign(1000, -1);
  EXPECT_EQ(Graph(std::move(data)).fingerprint(), "d7f7d28e2820bddf442fc6faca1e92a8");
}

TEST(Fingerprint, DoesNotDependOnTheOrderOfEdgesInARow) {
  GraphData data = diamond();
  std::swap(data.indices[0], data.indices[1]);
  std::swap(data.bytes[0], data.bytes[1]);
  EXPECT_EQ(Graph(data).fingerprint(), Graph(diamond()).fingerprint());
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    test::RandomGraphOptions options;
    options.outputs = seed % 2 == 1;
    options.parallel_edges = 30;
    const GraphData forward = test::random_graph_data(seed, options);
    GraphData backward = forward;
    for (std::int64_t v = 0; v < forward.num_nodes(); ++v) {
      for (auto* values : {&backward.indices, &backward.bytes, &backward.output}) {
        if (!values->empty()) std::reverse(values->begin() + forward.indptr[v], values->begin() + forward.indptr[v + 1]);
      }
    }
    EXPECT_EQ(Graph(backward).fingerprint(), Graph(forward).fingerprint());
  }
}

TEST(Fingerprint, DoesNotDependOnNamesOrOperations) {
  GraphData data = diamond();
  data.name = "another";
  data.producer = "somebody";
  data.names = {};
  data.op = {0, 0, 0, 0};
  data.op_types = {"MatMul"};
  data.gradient_of = {-1, -1, 0, -1};
  data.samples_per_step = 8;
  EXPECT_EQ(Graph(std::move(data)).fingerprint(), Graph(diamond()).fingerprint());
}

TEST(Fingerprint, DiffersWhereAnyArrayDiffers) {
  std::vector<std::string> prints{Graph(diamond()).fingerprint()};
  const auto changed = [&](auto&& change) {
    GraphData data = diamond();
    change(data);
    prints.push_back(Graph(std::move(data)).fingerprint());
  };
  changed([](GraphData& d) { d.indices[3] = 2; });                     // b -> c
  changed([](GraphData& d) { d.bytes[4] = 3; });
  changed([](GraphData& d) { d.output = {0, 0, 0, 0, 1}; });
  changed([](GraphData& d) { d.comp[0] = 2; });
  changed([](GraphData& d) { d.mem[1] = 21; });
  changed([](GraphData& d) { d.temp[3] = 1; });
  changed([](GraphData& d) { d.kind[1] = 1; });
  changed([](GraphData& d) { d.colocation[1] = 8; });
  changed([](GraphData& d) { d.alias[3] = -1; });
  changed([](GraphData& d) { d.fixed[3] = 0; });
  changed([](GraphData& d) { d.indptr = {0, 4, 4, 5, 5}; d.indices[3] = 3; });  // a -> d for b -> d
  std::sort(prints.begin(), prints.end());
  EXPECT_EQ(std::unique(prints.begin(), prints.end()), prints.end());
}

}  // namespace
}  // namespace pardnn
