#include "construct/replicas.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "construct/replica_start.hpp"
#include "support/random_graphs.hpp"

namespace pardnn {
namespace {

/// A training step of `layers` layers over `batches` micro-batches: forward, a sum of losses, backward, accumulated
/// gradients, one update for each parameter.
class Step {
 public:
  Step(int layers, int batches) : layers_(layers), batches_(batches) {
    for (int l = 0; l < layers; ++l) {
      builder_.node(at("w", l), 0, 100).kind(at("w", l), NodeKind::residual);
      builder_.node(at("u", l), 10).kind(at("u", l), NodeKind::reference).colocate({at("w", l), at("u", l)});
    }
    builder_.node("loss", 1);
    for (int b = 0; b < batches; ++b) add_batch(b);
    for (int l = 0; l < layers; ++l) add_update(l);
  }

  Graph graph() const { return Graph(builder_.data()); }
  NodeId node(const Graph& graph, const std::string& name) const {
    for (NodeId v = 0; v < graph.num_nodes(); ++v) {
      if (graph.file_id(v) == builder_.id(name)) return v;
    }
    return -1;
  }
  static std::string at(const std::string& name, int l) { return name + std::to_string(l); }
  static std::string at(const std::string& name, int l, int b) { return name + std::to_string(l) + "." + std::to_string(b); }

 private:
  void add_batch(int b) {
    builder_.node(at("x", b), 0, 50).node(at("y", b), 0, 5);
    std::string before = at("x", b);
    for (int l = 0; l < layers_; ++l) {
      builder_.node(at("f", l, b), 100, 50).edge(before, at("f", l, b), 50).edge(at("w", l), at("f", l, b), 100);
      before = at("f", l, b);
    }
    builder_.node(at("e", b), 10, 1).edge(before, at("e", b), 50).edge(at("y", b), at("e", b), 5).edge(at("e", b), "loss", 1);
    std::string gradient = "loss";
    Bytes bytes = 1;
    for (int l = layers_; l-- > 0;) {
      builder_.node(at("b", l, b), 200, 50).edge(gradient, at("b", l, b), bytes).edge(at("f", l, b), at("b", l, b), 50);
      builder_.edge(at("w", l), at("b", l, b), 100);
      gradient = at("b", l, b);
      bytes = 50;
    }
  }

  void add_update(int l) {
    std::string sum = at("b", l, 0);
    for (int b = 1; b < batches_; ++b) {
      builder_.node(at("s", l, b), 5, 100).edge(sum, at("s", l, b), 100).edge(at("b", l, b), at("s", l, b), 100);
      sum = at("s", l, b);
    }
    builder_.edge(sum, at("u", l), 100).edge(at("w", l), at("u", l), 100);
  }

  int layers_, batches_;
  test::GraphBuilder builder_;
};

TEST(Replicas, EveryMicroBatchIsOne) {
  const Step step(4, 3);
  const Graph graph = step.graph();
  const Replicas replicas = find_replicas(graph);
  ASSERT_EQ(replicas.count, 3);
  std::set<std::int32_t> seen;
  for (int b = 0; b < 3; ++b) {
    const std::int32_t own = replicas.of_node[step.node(graph, Step::at("x", b))];
    EXPECT_GE(own, 0);
    seen.insert(own);
    EXPECT_EQ(replicas.of_node[step.node(graph, Step::at("y", b))], own);
    for (int l = 0; l < 4; ++l) {
      EXPECT_EQ(replicas.of_node[step.node(graph, Step::at("f", l, b))], own);
      EXPECT_EQ(replicas.of_node[step.node(graph, Step::at("b", l, b))], own);
    }
  }
  EXPECT_EQ(seen.size(), 3u);
}

TEST(Replicas, SumsAndUpdatesAreSharedButSumsHaveAHome) {
  const Step step(2, 3);
  const Graph graph = step.graph();
  const Replicas replicas = find_replicas(graph);
  for (int l = 0; l < 2; ++l) {
    EXPECT_EQ(replicas.of_node[step.node(graph, Step::at("w", l))], -1);
    EXPECT_EQ(replicas.meets_at[step.node(graph, Step::at("u", l))], -1);
    // The first sum adds two batches: it may be at either. Every other is with the batch that it adds.
    EXPECT_EQ(replicas.of_node[step.node(graph, Step::at("s", l, 1))], -1);
    EXPECT_GE(replicas.meets_at[step.node(graph, Step::at("s", l, 1))], 0);
    EXPECT_EQ(replicas.of_node[step.node(graph, Step::at("s", l, 2))], -1);
    EXPECT_EQ(replicas.meets_at[step.node(graph, Step::at("s", l, 2))], replicas.of_node[step.node(graph, Step::at("x", 2))]);
  }
}

TEST(Replicas, InputsThatMeetEarlyAreOneReplica) {
  const Step step(4, 1);
  EXPECT_EQ(find_replicas(step.graph()).count, 1);
  EXPECT_EQ(find_replicas(Graph()).count, 0);
}

Constructed placed(const Graph& graph, DeviceId devices, const ReplicaLayout& layout) {
  const Machine machine = homogeneous_machine(devices, kUnlimited, 1'000'000'000, 1);
  const CostModel costs(graph, machine);
  return replica_start(costs, affinity_groups(costs), find_replicas(graph), layout);
}

TEST(ReplicaStart, DataParallelismKeepsAMicroBatchOnOneDevice) {
  const Step step(4, 4);
  const Graph graph = step.graph();
  const Constructed start = placed(graph, 2, {1, true, true});
  std::vector<int> batches(2, 0);
  for (int b = 0; b < 4; ++b) {
    const DeviceId home = start.device[step.node(graph, Step::at("f", 0, b))];
    ++batches[home];
    for (int l = 0; l < 4; ++l) {
      EXPECT_EQ(start.device[step.node(graph, Step::at("f", l, b))], home);
      EXPECT_EQ(start.device[step.node(graph, Step::at("b", l, b))], home);
    }
  }
  EXPECT_EQ(batches, (std::vector<int>{2, 2}));
}

TEST(ReplicaStart, AsManyStagesAsDevicesIsAPipeline) {
  const Step step(4, 4);
  const Graph graph = step.graph();
  const Constructed start = placed(graph, 4, {4, false, false});
  for (int l = 0; l < 4; ++l) {
    for (int b = 0; b < 4; ++b) {
      EXPECT_EQ(start.device[step.node(graph, Step::at("f", l, b))], l);
      EXPECT_EQ(start.device[step.node(graph, Step::at("b", l, b))], l);
    }
    EXPECT_EQ(start.device[step.node(graph, Step::at("w", l))], l);
    EXPECT_EQ(start.device[step.node(graph, Step::at("u", l))], l);
  }
}

TEST(ReplicaStart, WrappingFillsDevicesToEqualLoads) {
  const Step step(12, 3);
  const Graph graph = step.graph();
  for (const bool way : {true, false}) {
    const Constructed start = placed(graph, 2, {1, false, way});
    std::vector<Nanoseconds> load(2, 0);
    for (NodeId v = 0; v < graph.num_nodes(); ++v) load[start.device[v]] += graph.comp(v);
    EXPECT_LE(std::max(load[0], load[1]), graph.total_comp() * 53 / 100);
  }
}

TEST(ReplicaStart, UnitsStayWholeAndPinsAreKept) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    test::RandomGraphOptions options;
    options.devices = 3;
    const Graph graph(test::random_graph_data(seed, options));
    const Constructed start = placed(graph, 3, {static_cast<DeviceId>(1 + seed % 3), seed % 2 == 0, seed % 4 < 2});
    for (NodeId v = 0; v < graph.num_nodes(); ++v) {
      EXPECT_EQ(start.device[v], start.device[graph.unit_nodes(graph.unit(v)).front()]);
      if (graph.fixed(v) != kNoDevice) {
        EXPECT_EQ(start.device[v], graph.fixed(v));
      }
    }
  }
}

}  // namespace
}  // namespace pardnn
