/// The paper's Fig. 2 with weights found by search (those of the drawing are lost): K = 2, one byte takes one nanosecond.
///
///   A(1) --2--> B(3) --2--> E(1) --3--> G(2) --1--> I(1) --3--> K(1) --2--> L(1)     first primary
///    |                       ^ | |        ^                       ^           ^
///    +--1--> C(1) --2--> F(4)|-|-|----1---+                       |           |       second primary
///    |                       | | |                                |           |
///    +--2--> D(1) ------3----+ | +-------3------> J(2) -----2-----+           |
///                              +-----------1----> H(1) ------------1----------+
///
/// {J} communicates 3 + 2 = 5, and only 4 units of work lie in its span: merged at once, into the first primary. {D}
/// communicates 5 with the first primary, and 8 lie in its span; {H} 2 of 6: both are balanced.
///  - GLB puts {D} on device 1, which has less work in all, and the run takes 15.
///  - LALB sees that device 1 has more work within D's span (C and F) and D's traffic with device 0; 13.
#include <gtest/gtest.h>

#include <string>

#include "emulation/emulator.hpp"
#include "levels/critical_path.hpp"
#include "mapping/cluster_traffic.hpp"
#include "mapping/mapper.hpp"
#include "slicing/slicer.hpp"
#include "support/random_graphs.hpp"

namespace pardnn {
namespace {

class TwelveNodes : public testing::Test {
 protected:
  static GraphData data() {
    test::GraphBuilder builder;
    const int comp[] = {1, 3, 1, 1, 1, 4, 2, 1, 1, 2, 1, 1};
    for (int i = 0; i < 12; ++i) builder.node(std::string(1, static_cast<char>('A' + i)), comp[i]);
    builder.edge("A", "B", 2).edge("B", "E", 2).edge("E", "G", 3).edge("G", "I", 1).edge("I", "K", 3).edge("K", "L", 2);
    builder.edge("A", "C", 1).edge("C", "F", 2).edge("F", "G", 1);
    builder.edge("A", "D", 2).edge("D", "E", 3).edge("E", "H", 1).edge("H", "L", 1).edge("E", "J", 3).edge("J", "K", 2);
    return builder.data();
  }

  std::string name(NodeId v) const { return std::string(1, static_cast<char>('A' + graph_.file_id(v))); }

  std::string names(ClusterId c) const {
    std::string result;
    for_each_node(graph_, clustering_, c, [&](NodeId v) { result += name(v); });
    return result;
  }

  Nanoseconds potential(ClusterId c) const {
    const LevelRange span = cluster_span(costs_, index_, clustering_, c);
    Nanoseconds work = 0;
    for (std::int64_t i = span.from; i < span.to; ++i) {
      const NodeId v = index_.node(i);
      if (clustering_.of_unit[graph_.unit(v)] != c) work += graph_.comp(v);
    }
    return work;
  }

  std::vector<DeviceId> map(Balance balance) const {
    return devices_of_nodes(graph_, clustering_, map_clusters(costs_, clustering_, index_, {.balance = balance}));
  }

  Nanoseconds makespan(const std::vector<DeviceId>& device) const { return Emulator(costs_).run(device, Policy::fifo).makespan; }

  const Graph graph_{data()};
  const Machine machine_ = homogeneous_machine(2, kUnlimited, 1'000'000'000, 0);
  const CostModel costs_{graph_, machine_};
  const LevelIndex index_{graph_, weighted_levels(costs_)};
  const Clustering clustering_ = slice_graph(costs_, {.primaries = 2});
};

TEST_F(TwelveNodes, ClustersAreFoundInThePapersOrder) {
  ASSERT_EQ(clustering_.num_clusters(), 5);
  EXPECT_EQ(clustering_.primaries, 2);
  EXPECT_EQ(names(0), "ABEGIKL");
  EXPECT_EQ(names(1), "CF");
  EXPECT_EQ(names(2), "J");
  EXPECT_EQ(names(3), "D");
  EXPECT_EQ(names(4), "H");
}

TEST_F(TwelveNodes, OnlyJCannotHideItsCommunication) {
  EXPECT_EQ(cluster_communication(costs_, clustering_, 2), 5);
  EXPECT_EQ(potential(2), 4);
  EXPECT_EQ(cluster_communication(costs_, clustering_, 3), 5);
  EXPECT_EQ(potential(3), 8);
  EXPECT_EQ(cluster_communication(costs_, clustering_, 4), 2);
  EXPECT_EQ(potential(4), 6);
  for (const Balance balance : {Balance::level_aware, Balance::global}) {
    EXPECT_EQ(map_clusters(costs_, clustering_, index_, {.balance = balance})[2], 0);
  }
}

TEST_F(TwelveNodes, LevelAwareBalancingTakes13) {
  const std::vector<DeviceId> device = map(Balance::level_aware);
  EXPECT_EQ(makespan(device), 13);
  const CriticalPath path = placed_critical_path(costs_, device, placed_levels(costs_, device));
  std::string nodes;
  for (const NodeId v : path.nodes) nodes += name(v);
  EXPECT_EQ(nodes, "ACFGIKL");
  EXPECT_EQ(path.length, 13);
}

TEST_F(TwelveNodes, BalancingThatIgnoresLevelsTakes15) {
  const std::vector<DeviceId> device = map(Balance::global);
  EXPECT_EQ(makespan(device), 15);
  for (NodeId v = 0; v < graph_.num_nodes(); ++v) {
    if (name(v) == "D") {
      EXPECT_EQ(device[v], 1);
    }
  }
}

}  // namespace
}  // namespace pardnn
