#include "slicing/slicer.hpp"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <set>
#include <string>

#include "levels/slow_levels.hpp"
#include "support/random_graphs.hpp"

namespace pardnn {
namespace {

using test::GraphBuilder;
using test::RandomGraphOptions;

/// One byte takes one nanosecond.
Machine slow_machine(DeviceId devices) { return homogeneous_machine(devices, kUnlimited, 1'000'000'000, 0); }

Clustering slice(const Graph& graph, ClusterId primaries, SlicingOptions options = {}) {
  const Machine machine = slow_machine(4);
  options.primaries = primaries;
  return slice_graph(CostModel(graph, machine), options);
}

/// Clusters as strings of node letters (file id 0 = A), in path order.
std::vector<std::string> letters(const Graph& graph, const Clustering& clustering) {
  std::vector<std::string> result(clustering.num_clusters());
  for (ClusterId c = 0; c < clustering.num_clusters(); ++c) {
    for_each_node(graph, clustering, c, [&](NodeId v) { result[c] += static_cast<char>('A' + graph.file_id(v)); });
  }
  return result;
}

using Strings = std::vector<std::string>;

/// The same clusters with every step spelled out: O(paths * (V + E) * V).
class SlowSlicer {
 public:
  SlowSlicer(const CostModel& costs, ClusterId rounds) : costs_(costs), graph_(costs.graph()), rounds_(rounds) {
    removed_.assign(graph_.num_nodes(), 0);
  }

  std::vector<std::vector<UnitId>> slice() {
    compute_levels();
    std::vector<std::vector<UnitId>> clusters;
    for (NodeId v = start(); v >= 0; v = start()) {
      clusters.push_back(take_path(v));
      if (static_cast<ClusterId>(clusters.size()) <= rounds_) compute_levels();
    }
    return clusters;
  }

 private:
  void compute_levels() {
    test::SlowCosts slow = test::mean_costs(costs_);
    slow.kept = [this](NodeId v) { return removed_[v] == 0; };
    levels_ = test::slow_levels(graph_, slow);
  }

  bool has_predecessor(NodeId v) const {
    for (EdgeId i = graph_.in_begin(v); i < graph_.in_end(v); ++i) {
      if (removed_[graph_.source(i)] == 0) return true;
    }
    return false;
  }

  NodeId start() const {
    NodeId best = -1;
    for (NodeId v = 0; v < graph_.num_nodes(); ++v) {
      if (removed_[v] != 0 || has_predecessor(v)) continue;
      const auto key = [&](NodeId x) { return std::pair(levels_.weighted(x), -graph_.file_id(x)); };
      if (best < 0 || key(v) > key(best)) best = v;
    }
    return best;
  }

  NodeId next(NodeId v, DeviceId device) const {
    NodeId best = -1;
    std::tuple<Nanoseconds, Nanoseconds, std::int64_t> best_key;
    for (EdgeId e = graph_.out_begin(v); e < graph_.out_end(v); ++e) {
      const NodeId w = graph_.target(e);
      const DeviceId fixed = graph_.fixed(w);
      if (removed_[w] != 0 || (fixed != kNoDevice && device != kNoDevice && fixed != device)) continue;
      const std::tuple key(levels_.weighted(w), costs_.mean_cost(e) + levels_.bottom[w], -graph_.file_id(w));
      if (best >= 0 && key <= best_key) continue;
      best = w;
      best_key = key;
    }
    return best;
  }

  std::vector<UnitId> take_path(NodeId v) {
    std::vector<UnitId> path;
    DeviceId device = kNoDevice;
    for (; v >= 0; v = next(v, device)) {
      if (graph_.fixed(v) != kNoDevice) device = graph_.fixed(v);
      path.push_back(graph_.unit(v));
      for (const NodeId m : graph_.unit_nodes(graph_.unit(v))) removed_[m] = 1;
    }
    return path;
  }

  const CostModel& costs_;
  const Graph& graph_;
  ClusterId rounds_;
  std::vector<char> removed_;
  WeightedLevels levels_;
};

/// Every unit in exactly one cluster, all of one device's pins in a cluster, and of_unit consistent.
void expect_partition(const Graph& graph, const Clustering& clustering) {
  ASSERT_EQ(static_cast<UnitId>(clustering.units.size()), graph.num_units());
  ASSERT_EQ(clustering.fixed.size(), static_cast<std::size_t>(clustering.num_clusters()));
  ASSERT_GE(clustering.num_clusters(), clustering.primaries);
  std::set<UnitId> seen;
  for (ClusterId c = 0; c < clustering.num_clusters(); ++c) {
    std::set<DeviceId> pins;
    for (const UnitId u : clustering.cluster(c)) {
      EXPECT_TRUE(seen.insert(u).second);
      EXPECT_EQ(clustering.of_unit[u], c);
      if (graph.unit_fixed(u) != kNoDevice) pins.insert(graph.unit_fixed(u));
    }
    EXPECT_LE(pins.size(), 1u) << "cluster " << c << " is pinned to several devices";
    EXPECT_EQ(clustering.fixed[c], pins.empty() ? kNoDevice : *pins.begin());
  }
}

//       3        3
//  A(1) --> B(4) --> E(1)      heaviest: A B E = 12, then C D = 5, then F alone
//    | 1            ^ 1
//    +--> C(2) --> D(2)   F(3)     C -> D carries 1 byte
TEST(Slicer, PeelsHeaviestPathsOff) {
  const Graph graph(GraphBuilder().node("A", 1).node("B", 4).node("C", 2).node("D", 2).node("E", 1).node("F", 3)
                        .edge("A", "B", 3).edge("B", "E", 3).edge("A", "C", 1).edge("C", "D", 1).edge("D", "E", 1).data());
  EXPECT_EQ(letters(graph, slice(graph, 2)), (Strings{"ABE", "CD", "F"}));
}

/// Two paths cross in B. The second primary is heaviest in what is left (levels computed again), not in the whole graph.
///   A(9) -> B(9) -> C(9)    D(5) -> B -> E(5)    F(8)
TEST(Slicer, LevelsAreComputedAgainForEachPrimary) {
  const Graph graph(GraphBuilder().node("A", 9).node("B", 9).node("C", 9).node("D", 5).node("E", 5).node("F", 8)
                        .edge("A", "B", 0).edge("B", "C", 0).edge("D", "B", 0).edge("B", "E", 0).data());
  EXPECT_EQ(letters(graph, slice(graph, 2)), (Strings{"ABC", "F", "D", "E"}));
  EXPECT_EQ(letters(graph, slice(graph, 2, {.recomputations = 0})), (Strings{"ABC", "D", "E", "F"}));
}

TEST(Slicer, PathTakesWholeUnits) {
  // A -> B -> C and D -> E; B and E share a device, so E leaves with the first path.
  const Graph graph(GraphBuilder().node("A", 5).node("B", 5).node("C", 5).node("D", 1).node("E", 1)
                        .edge("A", "B", 1).edge("B", "C", 1).edge("D", "E", 1).colocate({"B", "E"}).data());
  EXPECT_EQ(letters(graph, slice(graph, 1)), (Strings{"ABEC", "D"}));
}

TEST(Slicer, PathDoesNotMixPins) {
  const Graph graph(GraphBuilder().node("A", 5).node("B", 5).node("C", 5).node("D", 1)
                        .edge("A", "B", 1).edge("B", "C", 1).edge("B", "D", 1).pin("A", 1).pin("C", 0).data());
  const Clustering clustering = slice(graph, 2);
  EXPECT_EQ(letters(graph, clustering), (Strings{"ABD", "C"}));
  EXPECT_EQ(clustering.fixed, (std::vector<DeviceId>{1, 0}));
}

TEST(Slicer, RandomGraphsAgreeWithTheSlowSlicer) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const RandomGraphOptions options{.nodes = static_cast<std::int64_t>(seed % 45), .window = seed % 4 == 0 ? 4 : 0,
                                     .max_comp = seed % 3 == 0 ? 3 : 20, .pinned = 10, .devices = 3, .outputs = seed % 5 == 0};
    const Graph graph(test::random_graph_data(seed, options));
    const Machine machine = slow_machine(4);
    const CostModel costs(graph, machine);
    for (const ClusterId primaries : {1, 3, 60}) {
      const Clustering clustering = slice_graph(costs, {.primaries = primaries});
      expect_partition(graph, clustering);
      const std::vector<std::vector<UnitId>> expected = SlowSlicer(costs, primaries).slice();
      ASSERT_EQ(clustering.num_clusters(), std::max<ClusterId>(primaries, static_cast<ClusterId>(expected.size())));
      for (ClusterId c = 0; c < clustering.num_clusters(); ++c) {
        const auto units = clustering.cluster(c);
        const std::vector<UnitId> wanted = c < static_cast<ClusterId>(expected.size()) ? expected[c] : std::vector<UnitId>{};
        EXPECT_EQ(std::vector<UnitId>(units.begin(), units.end()), wanted) << "seed " << seed << " cluster " << c;
      }
    }
  }
}

TEST(Slicer, RecomputingAfterEveryPathIsLinearClustering) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Graph graph(test::random_graph_data(seed, {.nodes = 40, .devices = 3}));
    const Machine machine = slow_machine(3);
    const CostModel costs(graph, machine);
    const Clustering clustering = slice_graph(costs, {.primaries = 2, .recomputations = INT64_MAX});
    std::vector<UnitId> in_order;
    for (const std::vector<UnitId>& cluster : SlowSlicer(costs, INT64_MAX).slice()) in_order.insert(in_order.end(), cluster.begin(), cluster.end());
    EXPECT_EQ(clustering.units, in_order);
  }
}

TEST(Slicer, JitterDependsOnTheSeedAlone) {
  const Graph graph(test::random_graph_data(3, RandomGraphOptions::plain(400)));
  const SlicingOptions options{.jitter = 300'000, .seed = 5};
  const Clustering once = slice(graph, 3, options), again = slice(graph, 3, options);
  EXPECT_EQ(once.units, again.units);
  EXPECT_EQ(once.offsets, again.offsets);
  expect_partition(graph, once);
  EXPECT_NE(once.units, slice(graph, 3, {.jitter = 300'000, .seed = 6}).units);
  EXPECT_NE(once.units, slice(graph, 3).units);
  EXPECT_EQ(slice(graph, 3, {.jitter = 0, .seed = 6}).units, slice(graph, 3).units);
}

TEST(Slicer, EmptyGraphHasEmptyPrimaries) {
  const Clustering clustering = slice(Graph(), 3);
  EXPECT_EQ(clustering.num_clusters(), 3);
  EXPECT_TRUE(clustering.units.empty());
}

TEST(Slicer, ChainIsOneClusterAndTheOtherPrimariesAreEmpty) {
  const Graph graph(test::chain(1000));
  const Clustering clustering = slice(graph, 4);
  expect_partition(graph, clustering);
  EXPECT_EQ(clustering.num_clusters(), 4);
  EXPECT_EQ(clustering.cluster(0).size(), 1000u);
}

TEST(Slicer, StarOfManyLeavesEnds) {
  const Graph graph(test::star(100'000));
  const Clustering clustering = slice(graph, 4);
  expect_partition(graph, clustering);
  EXPECT_EQ(clustering.num_clusters(), 100'000);
}

TEST(Slicer, CliqueWithoutBytesIsOnePath) {
  const Graph graph(test::clique(10));
  EXPECT_EQ(letters(graph, slice(graph, 2)), (Strings{"ABCDEFGHIJ", ""}));
}

TEST(Slicer, SameOnAllThreads) {
  const Graph graph(test::random_graph_data(8, {.nodes = 30'000, .window = 40, .devices = 4}));
  const int before = omp_get_max_threads();
  omp_set_num_threads(1);
  const Clustering serial = slice(graph, 4);
  for (const int threads : {2, 3, 8}) {
    omp_set_num_threads(threads);
    const Clustering parallel = slice(graph, 4);
    EXPECT_EQ(parallel.units, serial.units);
    EXPECT_EQ(parallel.offsets, serial.offsets);
  }
  omp_set_num_threads(before);
}

}  // namespace
}  // namespace pardnn
