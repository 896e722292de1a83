#include "costs/cost_model.hpp"

#include <gtest/gtest.h>

#include <string>

#include "pardnn/error.hpp"
#include "support/oracle.hpp"
#include "support/random_graphs.hpp"
#include "support/random_machines.hpp"

namespace pardnn {
namespace {

/// Every cost of every node, edge and pair of devices against the oracle.
void expect_costs(const GraphData& data, const Machine& machine) {
  const Graph graph(data);
  const CostModel costs(graph, machine);
  for (DeviceId d = 0; d < machine.num_devices(); ++d) {
    for (NodeId v = 0; v < graph.num_nodes(); ++v) {
      ASSERT_EQ(costs.duration(v, d), test::oracle_duration(data, machine, graph.file_id(v), d));
    }
  }
  for (EdgeId e = 0; e < graph.num_edges(); ++e) {
    ASSERT_EQ(costs.mean_cost(e), test::oracle_mean_cost(machine, graph.bytes(e)));
    for (DeviceId p = 0; p < machine.num_devices(); ++p) {
      for (DeviceId q = 0; q < machine.num_devices(); ++q) {
        ASSERT_EQ(costs.cost(e, p, q), test::oracle_cost(machine, graph.bytes(e), p, q));
        if (p == q) continue;
        ASSERT_EQ(costs.transfer(e, p, q) + costs.latency(p, q), costs.cost(e, p, q));
        if (costs.is_homogeneous()) {
          ASSERT_EQ(costs.cost(e, p, q), costs.mean_cost(e));
        }
      }
    }
  }
}

// 10 bytes at 3 bytes/ns: ceil(3.33) = 4, latency 5: 9. A control edge: 5. 10 ns at speed 1: 10.
TEST(CostModel, HomogeneousMachine) {
  test::GraphBuilder g;
  g.node("a", 10).node("b", 0).edge("a", "b", 10).node("c", 0).edge("b", "c", 0);
  const Graph graph(g.data());
  const Machine machine = homogeneous_machine(3, kUnlimited, 3'000'000'000, 5);
  const CostModel costs(graph, machine);
  EXPECT_TRUE(costs.is_homogeneous());
  EXPECT_EQ(costs.cost(0, 0, 2), 9);
  EXPECT_EQ(costs.cost(0, 1, 1), 0);
  EXPECT_EQ(costs.transfer(0, 0, 1), 4);
  EXPECT_EQ(costs.mean_cost(0), 9);
  EXPECT_EQ(costs.cost(1, 2, 0), 5);
  EXPECT_EQ(costs.mean_cost(1), 5);
  EXPECT_EQ(costs.duration(0, 1), 10);
}

TEST(CostModel, OneDeviceCommunicatesNothing) {
  const Graph graph(test::chain(2, 1, 50));
  const Machine machine = homogeneous_machine(1);
  const CostModel costs(graph, machine);
  EXPECT_EQ(costs.mean_cost(0), 0);
  EXPECT_EQ(costs.cost(0, 0, 0), 0);
}

// Two devices, 0 -> 1 takes 1 + 10, 1 -> 0 takes 4 + 20: the mean of 11 and 24 is 17.5, so 17.
TEST(CostModel, MeanIsTheFloorOverOrderedPairs) {
  const Graph graph(test::chain(2, 1, 10));
  Machine machine = homogeneous_machine(2, kUnlimited, 1'000'000'000, 1);
  machine.latency[machine.link(1, 0)] = 4;
  machine.bandwidth[machine.link(1, 0)] = 500'000'000;
  const CostModel costs(graph, machine);
  EXPECT_FALSE(costs.is_homogeneous());
  EXPECT_EQ(costs.cost(0, 0, 1), 11);
  EXPECT_EQ(costs.cost(0, 1, 0), 24);
  EXPECT_EQ(costs.mean_cost(0), 17);
}

// Equal bandwidths but different latencies, and the other way round, are not one link.
TEST(CostModel, LatencyAloneMakesLinksDiffer) {
  const GraphData data = test::chain(4, 3, 9);
  Machine machine = homogeneous_machine(3, kUnlimited, 2'000'000'000, 1);
  machine.latency[machine.link(0, 2)] = 8;
  expect_costs(data, machine);
  EXPECT_FALSE(CostModel(Graph(data), machine).is_homogeneous());
}

TEST(CostModel, EqualsTheOracleOnRandomMachines) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const test::RandomCase drawn = test::random_case(seed);
    expect_costs(drawn.data, drawn.machine);
    if (HasFailure()) break;
  }
}

// Nine speeds and 72 bandwidths: more than are kept in arrays, so some are computed at every call.
TEST(CostModel, ManyKindsOfSpeedsAndLinks) {
  test::RandomGraphOptions options = test::RandomGraphOptions::plain(20);
  options.max_comp = options.max_bytes = 1'000'000;
  const GraphData data = test::random_graph_data(4, options);
  for (const DeviceId kinds : {2, 3, 4, 5, 9}) {
    SCOPED_TRACE(kinds);
    Machine machine = homogeneous_machine(9, kUnlimited, 1'000'000'000, 3);
    for (DeviceId p = 0; p < 9; ++p) {
      machine.devices[p].speed = 400'000 + 150'001 * (p % kinds);
      for (DeviceId q = 0; q < 9; ++q) {
        if (p != q) machine.bandwidth[machine.link(p, q)] = BytesPerSecond{1'000'000'007} * (1 + (p * 9 + q) % (kinds * kinds));
      }
    }
    expect_costs(data, machine);
  }
}

// 2^55 ns at speed 3/2, 2^50 bytes at 1.5 bytes/ns: the products pass 64 bits, the results are exact.
TEST(CostModel, ProductsPass64Bits) {
  const Nanoseconds comp = std::int64_t{1} << 55;
  const Bytes bytes = std::int64_t{1} << 50;
  GraphData data = test::chain(2, comp, bytes);
  Machine machine = homogeneous_machine(2, kUnlimited, 1'500'000'000, 7);
  machine.devices[1].speed = 1'500'000;
  expect_costs(data, machine);
  const Graph graph(data);
  const CostModel costs(graph, machine);
  EXPECT_EQ(costs.duration(0, 0), comp);
  EXPECT_EQ(costs.duration(0, 1), 24019198012642646);  // ceil(2^56 / 3)
  EXPECT_EQ(costs.cost(0, 0, 1), 7 + 750599937895083);    // ceil(2^51 / 3)
}

std::string refusal(const Graph& graph, const Machine& machine) {
  try {
    const CostModel costs(graph, machine);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

std::string pin_refusal(const Graph& graph, DeviceId devices) {
  try {
    require_pinned_devices(graph, homogeneous_machine(devices));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(CostModel, RefusesAPinnedDeviceThatTheMachineLacks) {
  test::GraphBuilder g;
  g.node("a", 1).pin("a", 2);
  const Graph graph(g.data());
  EXPECT_EQ(pin_refusal(graph, 2), "/nodes/fixed: node 0 is pinned to device 2, but the machine has devices 0 to 1");
  EXPECT_EQ(pin_refusal(graph, 3), "");
  GraphData far = g.data();
  far.fixed[0] = INT32_MAX;
  EXPECT_NE(pin_refusal(Graph(far), 3).find("node 0 is pinned to device 2147483647"), std::string::npos);
  // The first in the file, not the first in topological order.
  GraphData two = test::GraphBuilder().node("late", 1).node("early", 1).edge("early", "late", 1).pin("late", 7).pin("early", 8).data();
  EXPECT_NE(pin_refusal(Graph(two), 3).find("node 0 is pinned to device 7"), std::string::npos);
  EXPECT_EQ(refusal(Graph(two), homogeneous_machine(3)), "") << "costs are defined all the same";
}

// The limit is on the worst serial run on this machine: 2^61 ns pass at speed 1, not at speed 0.5.
TEST(CostModel, RefusesSumsPastTheLimit) {
  const Graph slow(test::chain(2, std::int64_t{1} << 60, 0));
  Machine machine = homogeneous_machine(2, kUnlimited, 1'000'000'000, 0);
  EXPECT_EQ(refusal(slow, machine), "");
  machine.devices[1].speed = 500'000;
  EXPECT_NE(refusal(slow, machine).find("/nodes/comp"), std::string::npos);

  const Graph large(test::chain(3, 1, std::int64_t{1} << 59));
  EXPECT_EQ(refusal(large, homogeneous_machine(2, kUnlimited, 1'000'000'000, 0)), "");
  EXPECT_NE(refusal(large, homogeneous_machine(2, kUnlimited, 100'000'000, 0)).find("/edges/bytes"), std::string::npos);
  EXPECT_NE(refusal(large, homogeneous_machine(2, kUnlimited, 1, 0)).find("/edges/bytes"), std::string::npos);
  EXPECT_EQ(refusal(large, homogeneous_machine(1, kUnlimited, 1, 0)), "");
  EXPECT_NE(refusal(large, homogeneous_machine(2, kUnlimited, 1'000'000'000, std::int64_t{1} << 61)).find("2^62"), std::string::npos);

  // To the last nanosecond: 2^62 - 1 in all is legal, 2^62 is not. One device has no links.
  constexpr std::int64_t kHalf = std::int64_t{1} << 61;
  GraphData last = test::GraphBuilder().node("a", kHalf - 3).node("b", kHalf - 8).edge("a", "b", 10).data();
  EXPECT_EQ(refusal(Graph(last), homogeneous_machine(2, kUnlimited, 1'000'000'000, 0)), "");
  EXPECT_NE(refusal(Graph(last), homogeneous_machine(2, kUnlimited, 1'000'000'000, 1)), "");
  last.comp[1] = kHalf + 2;
  EXPECT_EQ(refusal(Graph(last), homogeneous_machine(1)), "");
  EXPECT_NE(refusal(Graph(last), homogeneous_machine(2, kUnlimited, 1'000'000'000'000, 0)), "");
}

}  // namespace
}  // namespace pardnn
