#include "construct/etf.hpp"

#include <gtest/gtest.h>

#include "construct/favourite_child.hpp"
#include "construct/plan_checks.hpp"
#include "emulation/emulator.hpp"
#include "levels/weighted_levels.hpp"
#include "support/random_machines.hpp"

namespace pardnn {
namespace {

using test::GraphBuilder;
using test::HandPlan;

ListOptions etf_options() {
  ListOptions options;
  options.method = ListMethod::etf;
  return options;
}

//  A(2) --10--> B(8)      K = 2, 1 ns a byte, no latency. Bottom levels: A 20, B 8, C 8, D 3.
//   `---3---> C(8)
//  D(3)
// At 0: (A, 0), then (D, 1) in [0, 3). At 2: B and C could start on device 0; equal bottom levels, B has the lower file id.
// Then C: device 0 from 10, device 1 from max(3, 2 + 3) = 5.
TEST(Etf, PlansThePairThatStartsFirst) {
  const GraphBuilder graph = GraphBuilder().node("A", 2).node("B", 8).node("C", 8).node("D", 3).edge("A", "B", 10).edge("A", "C", 3);
  const HandPlan plan(graph, test::byte_per_ns(2), etf_options());
  EXPECT_EQ(plan.starts("A"), 0);
  EXPECT_EQ(plan.starts("D"), 0);
  EXPECT_EQ(plan.starts("B"), 2);
  EXPECT_EQ(plan.starts("C"), 5);
  EXPECT_EQ(plan.on("D"), 1);
  EXPECT_EQ(plan.on("C"), 1);
  EXPECT_EQ(plan.plan.makespan, 13);
}

/// ETF by its definition: tries every ready node on every device each time.
struct SlowEtf {
  std::vector<DeviceId> device;
  std::vector<Nanoseconds> start;
};
SlowEtf slow_etf(const CostModel& costs) {
  const Graph& graph = costs.graph();
  const std::vector<Nanoseconds> bottom = weighted_levels(costs).bottom;
  SlowEtf slow{std::vector<DeviceId>(graph.num_nodes(), kNoDevice), std::vector<Nanoseconds>(graph.num_nodes(), -1)};
  std::vector<DeviceId> unit_device(graph.num_units(), kNoDevice);
  for (UnitId u = 0; u < graph.num_units(); ++u) unit_device[u] = graph.unit_fixed(u);
  std::vector<Nanoseconds> free(costs.num_devices(), 0);
  const auto better = [&](Nanoseconds start, NodeId v, Nanoseconds than, NodeId w) {
    if (w < 0 || start != than) return w < 0 || start < than;
    return bottom[v] != bottom[w] ? bottom[v] > bottom[w] : graph.file_id(v) < graph.file_id(w);
  };
  for (NodeId planned = 0; planned < graph.num_nodes(); ++planned) {
    NodeId best = -1;
    DeviceId on = kNoDevice;
    Nanoseconds at = 0;
    for (NodeId v = 0; v < graph.num_nodes(); ++v) {
      bool open = slow.start[v] < 0;
      for (EdgeId i = graph.in_begin(v); i < graph.in_end(v); ++i) open = open && slow.start[graph.source(i)] >= 0;
      if (!open) continue;
      for (DeviceId d = 0; d < costs.num_devices(); ++d) {
        if (unit_device[graph.unit(v)] != kNoDevice && unit_device[graph.unit(v)] != d) continue;
        Nanoseconds start = free[d];
        for (EdgeId i = graph.in_begin(v); i < graph.in_end(v); ++i) {
          const NodeId u = graph.source(i);
          start = std::max(start, slow.start[u] + costs.duration(u, slow.device[u]) + costs.cost(graph.in_edge(i), slow.device[u], d));
        }
        if (better(start, v, at, best)) best = v, on = d, at = start;
      }
    }
    unit_device[graph.unit(best)] = on;
    slow.device[best] = on;
    slow.start[best] = at;
    free[on] = at + costs.duration(best, on);
  }
  return slow;
}

TEST(Etf, AgreesWithTheDefinitionOnRandomGraphsAndMachines) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    test::TestRandom random(seed);
    test::RandomGraphOptions shape;
    shape.nodes = 10 + random.below(40);
    shape.window = random.below(3) * 5;
    shape.devices = 3;
    const Graph graph(test::random_graph_data(seed, shape));
    const auto kind = static_cast<test::MachineKind>(random.below(test::kMachineKinds));
    const Machine machine = test::random_machine(random, kind, 3 + static_cast<DeviceId>(random.below(3)), kUnlimited, Links::free);
    const CostModel costs(graph, machine);
    const Constructed plan = etf(costs, etf_options());
    const SlowEtf slow = slow_etf(costs);
    EXPECT_EQ(plan.start, slow.start) << "seed " << seed;
    EXPECT_EQ(plan.device, slow.device) << "seed " << seed;
  }
}

// While a device idles in the plan, no node planned there later has its inputs yet: its predecessors start no earlier than the node that the device waits for.
// So dispatch in planned order is the plan itself. (Nodes of zero duration may come a round too late at the same instant.)
TEST(Etf, ReplayInPlannedOrderIsThePlan) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    test::RandomGraphOptions shape;
    shape.nodes = 60;
    shape.window = seed % 3 == 0 ? 6 : 0;
    shape.devices = 4;
    GraphData data = test::random_graph_data(seed, shape);
    for (Nanoseconds& comp : data.comp) ++comp;
    const Graph graph(std::move(data));
    const Machine machine = seed % 2 == 0 ? test::byte_per_ns(4, 2) : test::two_unequal_hosts();
    const CostModel costs(graph, machine);
    const Constructed plan = etf(costs, etf_options());
    Emulator emulator(costs);
    EXPECT_EQ(emulator.run(plan.device, Policy::priority, plan.priority).start, plan.start) << "seed " << seed;
  }
}

//  A(1) --9--> B(1), A --2--> C(1): the dearest edge is A -> B; C has no favourite parent. D(1) --4--> B comes too late.
TEST(FavouriteChild, DearestEdgesFirst) {
  const GraphBuilder builder = GraphBuilder().node("A", 1).node("B", 1).node("C", 1).node("D", 1)
                                   .edge("A", "B", 9).edge("A", "C", 2).edge("D", "B", 4);
  const Graph graph(builder.data());
  const Machine machine = test::byte_per_ns(2);
  const CostModel costs(graph, machine);
  const std::vector<EdgeId> child = favourite_children(costs);
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    if (graph.file_id(v) == builder.id("A")) {
      ASSERT_GE(child[v], 0);
      EXPECT_EQ(graph.file_id(graph.target(child[v])), builder.id("B"));
    } else {
      EXPECT_EQ(child[v], -1);
    }
  }
}

// One device, favourite child C of A waits for B's data from nowhere: there is no one else to run, so the promise costs nothing and the plan is the serial one.
TEST(Etf, FavouriteChildrenKeepTheGraphRunning) {
  const GraphBuilder graph = GraphBuilder().node("A", 2).node("B", 3).node("C", 4).edge("A", "C", 5).edge("B", "C", 1);
  ListOptions options = etf_options();
  options.favourite_children = true;
  EXPECT_EQ(HandPlan(graph, test::byte_per_ns(1), options).plan.makespan, 9);
}

// A on device 0 ends at 2 and promises itself to C (dearest child) until 2 + 10; B (5, independent of A's output) takes device 1 at 3 although
// device 0 is free at 2.
//  A(2) --10--> C(4) <--1-- D(3), B(5) <--0-- D
TEST(Etf, ADeviceWaitsForItsFavouriteChild) {
  const GraphBuilder graph = GraphBuilder().node("A", 2).node("B", 5).node("C", 4).node("D", 3)
                                 .edge("A", "C", 10).edge("D", "C", 1).edge("D", "B", 0);
  ListOptions options = etf_options();
  options.favourite_children = true;
  const HandPlan plan(graph, test::byte_per_ns(2), options);
  EXPECT_EQ(plan.on("A"), 0);
  EXPECT_EQ(plan.on("C"), 0);
  EXPECT_EQ(plan.starts("C"), 4);
  EXPECT_EQ(plan.on("B"), 1);
}

}  // namespace
}  // namespace pardnn
