#include "refinement/cluster_swap.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "mapping/mapper.hpp"
#include "slicing/slicer.hpp"
#include "support/random_graphs.hpp"

namespace pardnn {
namespace {

Machine slow_machine(DeviceId devices) { return homogeneous_machine(devices, kUnlimited, 1'000'000'000, 0); }

//   A(1) -20-> B(9) -20-> C(9) -20-> D(1)    x(2) between B and C, 3 bytes each way     primary {A B C D}
//   A -21-> E(5) -20-> F(5) --1--> D         y(2) between E and F, 3 bytes each way     primary {E F}
TEST(ClusterSwap, ClustersOnEachOthersSideChangePlaces) {
  const Graph graph(test::GraphBuilder().node("A", 1).node("B", 9).node("C", 9).node("D", 1).node("E", 5).node("F", 5).node("x", 2).node("y", 2)
                        .edge("A", "B", 20).edge("B", "C", 20).edge("C", "D", 20).edge("A", "E", 21).edge("E", "F", 20).edge("F", "D", 1)
                        .edge("B", "x", 3).edge("x", "C", 3).edge("E", "y", 3).edge("y", "F", 3).data());
  const Machine machine = slow_machine(2);
  const CostModel costs(graph, machine);
  const LevelIndex index(graph, weighted_levels(costs));
  const Clustering clustering = slice_graph(costs, {.primaries = 2});
  ASSERT_EQ(clustering.num_clusters(), 4);  // {A B C D}, {E F}, {x}, {y}
  EXPECT_EQ(swap_clusters(costs, clustering, index, {0, 1, 1, 0}), (std::vector<DeviceId>{0, 1, 0, 1}));
  EXPECT_EQ(swap_clusters(costs, clustering, index, {0, 1, 0, 1}), (std::vector<DeviceId>{0, 1, 0, 1})) << "nothing left to gain";
}

Nanoseconds cut_cost(const CostModel& costs, const Clustering& clustering, const std::vector<DeviceId>& of_cluster) {
  const Graph& graph = costs.graph();
  const std::vector<DeviceId> device = devices_of_nodes(graph, clustering, of_cluster);
  Nanoseconds sum = 0;
  for (NodeId u = 0; u < graph.num_nodes(); ++u) {
    for (EdgeId e = graph.out_begin(u); e < graph.out_end(u); ++e) {
      if (device[u] != device[graph.target(e)]) sum += costs.mean_cost(e);
    }
  }
  return sum;
}

TEST(ClusterSwap, OnlyExchangesAndNeverAddsCommunication) {
  int changed = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const Graph graph(test::random_graph_data(seed, {.nodes = 80, .window = seed % 2 == 0 ? 10 : 0, .pinned = 3, .devices = 3}));
    Machine machine = slow_machine(3);
    if (seed % 4 == 0) machine.devices[1].speed = 1'500'000;
    const CostModel costs(graph, machine);
    const LevelIndex index(graph, weighted_levels(costs));
    const Clustering clustering = slice_graph(costs, {.primaries = 3});
    // From a random placement, where there is much to gain.
    test::TestRandom random(seed);
    std::vector<DeviceId> before = map_clusters(costs, clustering, index, {});
    for (ClusterId c = clustering.primaries; c < clustering.num_clusters(); ++c) {
      if (clustering.fixed[c] == kNoDevice) before[c] = static_cast<DeviceId>(random.below(3));
    }
    const std::vector<DeviceId> after = swap_clusters(costs, clustering, index, before);
    changed += after != before ? 1 : 0;
    EXPECT_LE(cut_cost(costs, clustering, after), cut_cost(costs, clustering, before));
    std::vector<DeviceId> sorted_before = before, sorted_after = after;
    std::sort(sorted_before.begin(), sorted_before.end());
    std::sort(sorted_after.begin(), sorted_after.end());
    EXPECT_EQ(sorted_after, sorted_before) << "every device holds as many clusters as before";
    for (ClusterId c = 0; c < clustering.num_clusters(); ++c) {
      if (c < clustering.primaries || clustering.fixed[c] != kNoDevice) {
        EXPECT_EQ(after[c], before[c]);
      }
    }
  }
  EXPECT_GT(changed, 100);
}

}  // namespace
}  // namespace pardnn
