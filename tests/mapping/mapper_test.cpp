#include "mapping/mapper.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "slicing/slicer.hpp"
#include "support/random_graphs.hpp"

namespace pardnn {
namespace {

using test::GraphBuilder;
using test::RandomGraphOptions;

Machine slow_machine(DeviceId devices, Nanoseconds latency = 0) { return homogeneous_machine(devices, kUnlimited, 1'000'000'000, latency); }

/// Algorithm 2 with every sum spelled out over all nodes and edges; homogeneous machines without an allowed subset.
class SlowMapper {
 public:
  SlowMapper(const CostModel& costs, const Clustering& clustering, const MappingOptions& options)
      : costs_(costs), graph_(costs.graph()), clustering_(clustering), options_(options), levels_(weighted_levels(costs)) {
    device_.assign(clustering.num_clusters(), kNoDevice);
    for (NodeId v = 0; v < graph_.num_nodes(); ++v) length_ = std::max(length_, levels_.weighted(v));
  }

  std::vector<DeviceId> map() {
    place_primaries();
    for (ClusterId c = clustering_.primaries; c < clustering_.num_clusters(); ++c) device_[c] = clustering_.fixed[c];
    for (ClusterId c = clustering_.primaries; options_.initial_merge && c < clustering_.num_clusters(); ++c) {
      if (device_[c] != kNoDevice || communication(c, kNoDevice, false) <= work(c, kNoDevice, true)) continue;
      DeviceId best = kNoDevice;
      for (DeviceId d = 0; d < costs_.num_devices(); ++d) {
        const Nanoseconds most = best == kNoDevice ? 0 : communication(c, best, true);
        if (communication(c, d, true) > most) best = d;
      }
      device_[c] = best;
    }
    std::vector<ClusterId> order(clustering_.num_clusters());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](ClusterId a, ClusterId b) { return weight(a) > weight(b); });
    for (const ClusterId c : order) {
      if (device_[c] == kNoDevice) device_[c] = choose(c);
    }
    return device_;
  }

 private:
  ClusterId cluster(NodeId v) const { return clustering_.of_unit[graph_.unit(v)]; }

  void place_primaries() {
    std::vector<bool> taken(costs_.num_devices(), false);
    for (ClusterId c = 0; c < clustering_.primaries; ++c) {
      device_[c] = clustering_.fixed[c];
      if (device_[c] != kNoDevice) taken[device_[c]] = true;
    }
    for (ClusterId c = 0; c < clustering_.primaries; ++c) {
      for (DeviceId d = 0; d < costs_.num_devices() && device_[c] == kNoDevice; ++d) {
        if (taken[d]) continue;
        device_[c] = d;
        taken[d] = true;
      }
    }
  }

  Nanoseconds weight(ClusterId c) const {
    Nanoseconds sum = 0;
    for (NodeId v = 0; v < graph_.num_nodes(); ++v) sum += cluster(v) == c ? graph_.comp(v) : 0;
    return sum;
  }

  /// Cost of c's cut edges, all of them or those to clusters on d.
  Nanoseconds communication(ClusterId c, DeviceId d, bool with_device) const {
    Nanoseconds sum = 0;
    for (NodeId u = 0; u < graph_.num_nodes(); ++u) {
      for (EdgeId e = graph_.out_begin(u); e < graph_.out_end(u); ++e) {
        const ClusterId a = cluster(u), b = cluster(graph_.target(e));
        if ((a == c) == (b == c)) continue;
        if (!with_device || device_[a == c ? b : a] == d) sum += costs_.mean_cost(e);
      }
    }
    return sum;
  }

  /// Work within c's span: of everything but c (everywhere), or of the clusters on d.
  Nanoseconds work(ClusterId c, DeviceId d, bool everywhere) const {
    NodeId first = -1, last = -1;
    for (NodeId v = 0; v < graph_.num_nodes(); ++v) {
      if (cluster(v) != c) continue;
      if (first < 0 || levels_.top[v] < levels_.top[first]) first = v;
      if (last < 0 || levels_.top[v] >= levels_.top[last]) last = v;
    }
    if (first < 0) return 0;
    Nanoseconds from = 0, to = length_, sum = 0;
    for (NodeId u = 0; u < graph_.num_nodes(); ++u) {
      for (EdgeId e = graph_.out_begin(u); e < graph_.out_end(u); ++e) {
        if (graph_.target(e) == first) from = std::max(from, levels_.top[u] + graph_.comp(u));
        if (u == last) to = std::min(to, levels_.top[graph_.target(e)]);
      }
    }
    for (NodeId v = 0; v < graph_.num_nodes(); ++v) {
      if (levels_.top[v] < from || levels_.top[v] >= to) continue;
      if (everywhere ? cluster(v) != c : device_[cluster(v)] == d) sum += graph_.comp(v);
    }
    return sum;
  }

  DeviceId choose(ClusterId c) const {
    DeviceId best = kNoDevice;
    std::pair<Nanoseconds, Nanoseconds> best_key;
    for (DeviceId d = 0; d < costs_.num_devices(); ++d) {
      Nanoseconds value = 0, traffic = communication(c, d, true);
      if (options_.balance == Balance::global) {
        traffic = 0;
        for (NodeId v = 0; v < graph_.num_nodes(); ++v) value += device_[cluster(v)] == d ? graph_.comp(v) : 0;
      } else {
        value = weight(c) > 0 ? work(c, d, false) : 0;
        for (DeviceId q = 0; q < costs_.num_devices(); ++q) value += q != d ? communication(c, q, true) : 0;
      }
      const std::pair key(value, -traffic);
      if (best != kNoDevice && key >= best_key) continue;
      best = d;
      best_key = key;
    }
    return best;
  }

  const CostModel& costs_;
  const Graph& graph_;
  const Clustering& clustering_;
  const MappingOptions& options_;
  WeightedLevels levels_;
  Nanoseconds length_ = 0;
  std::vector<DeviceId> device_;
};

TEST(Mapper, RandomGraphsAgreeWithTheSlowMapper) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const RandomGraphOptions options{.nodes = static_cast<std::int64_t>(seed % 30), .window = seed % 4 == 0 ? 5 : 0,
                                     .max_bytes = seed % 3 == 0 ? 2 : 20, .pinned = 10, .devices = 3, .outputs = seed % 5 == 0};
    const Graph graph(test::random_graph_data(seed, options));
    const Machine machine = slow_machine(3, seed % 2 == 0 ? 0 : 3);
    const CostModel costs(graph, machine);
    const LevelIndex index(graph, weighted_levels(costs));
    const Clustering clustering = slice_graph(costs, {.primaries = 3});
    for (const bool merge : {true, false}) {
      for (const Balance balance : {Balance::level_aware, Balance::global}) {
        const MappingOptions mapping{.balance = balance, .initial_merge = merge};
        EXPECT_EQ(map_clusters(costs, clustering, index, mapping), SlowMapper(costs, clustering, mapping).map()) << "seed " << seed;
      }
    }
  }
}

std::vector<DeviceId> map(const Graph& graph, const Machine& machine, MappingOptions options = {}) {
  const CostModel costs(graph, machine);
  const LevelIndex index(graph, weighted_levels(costs));
  const Clustering clustering = slice_graph(costs, {.primaries = options.devices > 0 ? options.devices : machine.num_devices()});
  return graph.to_file_order<DeviceId>(devices_of_nodes(graph, clustering, map_clusters(costs, clustering, index, options)));
}

TEST(Mapper, IsolatedNodesEvenOutTheLoad) {
  GraphBuilder builder;
  for (const char* name : {"a", "b", "c", "p", "q", "r", "s", "t"}) builder.node(name, 10);
  builder.edge("a", "b", 1).edge("b", "c", 1);
  const std::vector<DeviceId> device = map(Graph(builder.data()), slow_machine(2));
  EXPECT_EQ(std::count(device.begin(), device.end(), 0), 4);
  EXPECT_EQ(std::count(device.begin(), device.end(), 1), 4);
}

TEST(Mapper, HeaviestPrimaryGoesToTheFastestDevice) {
  const Graph graph(GraphBuilder().node("A", 5).node("B", 50).node("C", 20).data());
  Machine machine = slow_machine(3);
  machine.devices[1].speed = 3'000'000;
  machine.devices[2].speed = 2'000'000;
  EXPECT_EQ(map(graph, machine), (std::vector<DeviceId>{0, 1, 2}));
}

TEST(Mapper, FasterDevicesGetMoreWork) {
  GraphBuilder builder;
  for (int i = 0; i < 40; ++i) builder.node(std::to_string(i), 10);
  const Graph graph(builder.data());
  Machine machine = slow_machine(2);
  machine.devices[1].speed = 3'000'000;
  for (const Balance balance : {Balance::level_aware, Balance::global}) {
    const std::vector<DeviceId> device = map(graph, machine, {.balance = balance});
    EXPECT_NEAR(static_cast<double>(std::count(device.begin(), device.end(), 1)), 30, 1);
  }
}

TEST(Mapper, UsesNoMoreDevicesThanAllowedButPins) {
  GraphBuilder builder;
  for (int i = 0; i < 20; ++i) builder.node(std::to_string(i), 10);
  builder.node("pinned", 1).pin("pinned", 0);
  const Graph graph(builder.data());
  Machine machine = slow_machine(4);
  machine.devices[3].speed = machine.devices[1].speed = 2'000'000;
  EXPECT_EQ(allowed_devices(machine, 2), (std::vector<DeviceId>{1, 3}));
  EXPECT_EQ(allowed_devices(machine, 0), (std::vector<DeviceId>{0, 1, 2, 3}));
  EXPECT_EQ(allowed_devices(machine, 9), (std::vector<DeviceId>{0, 1, 2, 3}));
  const std::vector<DeviceId> device = map(graph, machine, {.devices = 2});
  EXPECT_EQ(std::count(device.begin(), device.end(), 1), 10);
  EXPECT_EQ(std::count(device.begin(), device.end(), 3), 10);
  EXPECT_EQ(device.back(), 0);
}

/// A parameter without work follows its consumer, however much other work lies before that.
TEST(Mapper, ClusterWithoutWorkFollowsItsTraffic) {
  const Graph graph(GraphBuilder().node("x", 100).node("y", 90).node("w", 0).node("z", 50)
                        .edge("x", "z", 1).edge("w", "z", 40).data());
  const std::vector<DeviceId> device = map(graph, slow_machine(2), {.initial_merge = false});
  EXPECT_EQ(device[2], device[3]);
}

TEST(Mapper, OneDeviceTakesEverything) {
  const Graph graph(test::random_graph_data(1, {.nodes = 50, .devices = 1}));
  EXPECT_EQ(map(graph, slow_machine(1)), std::vector<DeviceId>(50, 0));
  EXPECT_TRUE(map(Graph(), slow_machine(2)).empty());
}

}  // namespace
}  // namespace pardnn
