#include "mapping/cluster_traffic.hpp"

#include <gtest/gtest.h>

#include "slicing/slicer.hpp"
#include "support/random_graphs.hpp"

namespace pardnn {
namespace {

//  A(2) --3--> B(4) --5--> D(1)     clusters {A B D}, {C}
//   +---1---> C(3) ---2----^        C: parent A ends at 2, child D starts at 14: span [2, 14); communication 1 + 2
TEST(ClusterTraffic, SpanAndCommunicationOfOneNode) {
  const Graph graph(test::GraphBuilder().node("A", 2).node("B", 4).node("C", 3).node("D", 1)
                        .edge("A", "B", 3).edge("B", "D", 5).edge("A", "C", 1).edge("C", "D", 2).data());
  const Machine machine = homogeneous_machine(2, kUnlimited, 1'000'000'000, 0);
  const CostModel costs(graph, machine);
  const LevelIndex index(graph, weighted_levels(costs));
  const Clustering clustering = slice_graph(costs, {.primaries = 1});
  ASSERT_EQ(clustering.num_clusters(), 2);
  EXPECT_EQ(cluster_communication(costs, clustering, 1), 3);
  EXPECT_EQ(cluster_communication(costs, clustering, 0), 3);
  const LevelRange span = cluster_span(costs, index, clustering, 1);
  EXPECT_EQ(span.from, 1);  // all but A (tl 0) ...
  EXPECT_EQ(span.to, 3);    // ... and D (tl 14)
  const LevelRange all = cluster_span(costs, index, clustering, 0);
  EXPECT_EQ(all.from, 0);
  EXPECT_EQ(all.to, 4);

  ClusterTraffic traffic(costs, clustering);
  const std::vector<DeviceId> devices{0, 1};
  traffic.measure(1, 0, std::vector<DeviceId>{1, kNoDevice});
  EXPECT_EQ(traffic.with_device(1), 3);
  EXPECT_EQ(traffic.with_device(0), 0);
  EXPECT_EQ(traffic.with_other(), 3);
  EXPECT_EQ(traffic.total(), 3);
  EXPECT_EQ(traffic.busiest(devices), 1);
  traffic.measure(1, std::vector<DeviceId>{kNoDevice, kNoDevice});
  EXPECT_EQ(traffic.total(), 0);
  EXPECT_EQ(traffic.busiest(devices), kNoDevice);
}

TEST(ClusterTraffic, RandomGraphsAgreeWithTheDefinition) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Graph graph(test::random_graph_data(seed, {.nodes = 40, .devices = 3, .outputs = seed % 2 == 0}));
    const Machine machine = homogeneous_machine(3, kUnlimited, 1'000'000'000, 1);
    const CostModel costs(graph, machine);
    const WeightedLevels levels = weighted_levels(costs);
    const LevelIndex index(graph, levels);
    const Clustering clustering = slice_graph(costs, {.primaries = 3});
    const auto cluster_of = [&](NodeId v) { return clustering.of_unit[graph.unit(v)]; };
    for (ClusterId c = 0; c < clustering.num_clusters(); ++c) {
      // First and last node: least and greatest (tl, id). The expected finish of a parent leaves its transfer out.
      NodeId first = -1, last = -1;
      for (NodeId v = 0; v < graph.num_nodes(); ++v) {
        if (cluster_of(v) != c) continue;
        if (first < 0 || levels.top[v] < levels.top[first]) first = v;
        if (last < 0 || levels.top[v] >= levels.top[last]) last = v;
      }
      Nanoseconds communication = 0, from = 0, to = index.length();
      for (NodeId u = 0; u < graph.num_nodes(); ++u) {
        for (EdgeId e = graph.out_begin(u); e < graph.out_end(u); ++e) {
          const NodeId v = graph.target(e);
          if ((cluster_of(u) == c) != (cluster_of(v) == c)) communication += costs.mean_cost(e);
          if (v == first) from = std::max(from, levels.top[u] + graph.comp(u));
          if (u == last) to = std::min(to, levels.top[v]);
        }
      }
      EXPECT_EQ(cluster_communication(costs, clustering, c), communication);
      const LevelRange span = cluster_span(costs, index, clustering, c);
      if (first < 0) {
        EXPECT_EQ(span.to - span.from, 0) << "an empty cluster spans nothing";
        continue;
      }
      for (NodeId v = 0; v < graph.num_nodes(); ++v) {
        const bool inside = index.position(v) >= span.from && index.position(v) < span.to;
        EXPECT_EQ(inside, levels.top[v] >= from && levels.top[v] < to);
      }
    }
  }
}

}  // namespace
}  // namespace pardnn
