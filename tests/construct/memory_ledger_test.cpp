#include "construct/memory_ledger.hpp"

#include <gtest/gtest.h>

#include "construct/eil.hpp"
#include "construct/plan_checks.hpp"
#include "memory/memory_profile.hpp"

namespace pardnn {
namespace {

using test::GraphBuilder;

//  W (residual, 100) --20--> A(mem 30, temp 5) --30--> B(mem 7)      budget 140 on both devices
class TwoDevices : public ::testing::Test {
 protected:
  TwoDevices()
      : builder_(GraphBuilder().node("W", 0, 100).kind("W", NodeKind::residual).node("A", 4, 30, 5).node("B", 2, 7)
                     .edge("W", "A", 20).edge("A", "B", 30)),
        graph_(builder_.data()),
        machine_(test::byte_per_ns(2)),
        costs_(graph_, machine_),
        ledger_(costs_, std::vector<Bytes>{140, 140}) {}

  std::vector<Bytes> over(NodeId v) {
    std::vector<Bytes> bytes(2);
    ledger_.assess(v, device_, finish_, bytes);
    return bytes;
  }

  GraphBuilder builder_;
  Graph graph_;
  Machine machine_;
  CostModel costs_;
  MemoryLedger ledger_;
  std::vector<DeviceId> device_ = std::vector<DeviceId>(3, kNoDevice);  // ids are file ids: a chain
  std::vector<Nanoseconds> finish_{0, 4, 6};
};

TEST_F(TwoDevices, FollowsAChainOnOneDevice) {
  EXPECT_EQ(over(0), (std::vector<Bytes>{0, 0}));
  device_[0] = 0;
  ledger_.place(0, 0, device_, finish_, 0);
  ledger_.end(0, 0, device_);
  EXPECT_EQ(ledger_.residual(0), 100);
  // A on 0: 100 + 30 + 5 fits; on 1: a copy of 20 and 35.
  EXPECT_EQ(over(1), (std::vector<Bytes>{0, 0}));
  device_[1] = 0;
  ledger_.place(1, 0, device_, finish_, 0);
  EXPECT_EQ(ledger_.live(0), 30);
  EXPECT_EQ(ledger_.peak(0), 135);
  ledger_.end(1, 0, device_);
  // B on 0: 100 + 30 + 7 = 137.
  EXPECT_EQ(over(2), (std::vector<Bytes>{0, 0}));
  device_[2] = 0;
  ledger_.place(2, 0, device_, finish_, 4);
  ledger_.end(2, 0, device_);
  EXPECT_EQ(ledger_.live(0), 0);
  EXPECT_EQ(ledger_.peak(0), 137);
}

TEST_F(TwoDevices, ChargesCopiesWhereTheyLive) {
  device_[0] = 0;
  ledger_.place(0, 0, device_, finish_, 0);
  ledger_.end(0, 0, device_);
  device_[1] = 1;
  ledger_.place(1, 1, device_, finish_, 0);
  EXPECT_EQ(ledger_.live(1), 20 + 30);
  EXPECT_EQ(ledger_.peak(1), 20 + 30 + 5);
  ledger_.end(1, 1, device_);
  EXPECT_EQ(ledger_.live(1), 30) << "the copy of W is gone, A waits for B";
  device_[2] = 0;
  ledger_.place(2, 0, device_, finish_, 4);
  EXPECT_EQ(ledger_.live(1), 0) << "its last consumer has a copy";
  EXPECT_EQ(ledger_.live(0), 30 + 7);
  ledger_.end(2, 0, device_);
  EXPECT_EQ(ledger_.live(0), 0);
}

TEST_F(TwoDevices, SaysByHowMuchADeviceOverflows) {
  device_[0] = 0;
  ledger_.place(0, 0, device_, finish_, 0);
  device_[1] = 1;
  ledger_.place(1, 1, device_, finish_, 0);
  // B on 0: W 100, copy of A 30, 7: 137. One byte less of budget would not do: see the next ledger.
  EXPECT_EQ(over(2)[0], 0);
  MemoryLedger tight(costs_, std::vector<Bytes>{136, 140});
  std::swap(tight, ledger_);
  ledger_.place(0, 0, device_, finish_, 0);
  ledger_.place(1, 1, device_, finish_, 0);
  EXPECT_EQ(over(2)[0], 1);
}

// On one device there are no copies, so the estimate only counts buffers longer than they live.
TEST(MemoryLedger, IsNoLessThanTheTruePeakOnOneDevice) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    test::RandomGraphOptions shape;
    shape.nodes = 40;
    shape.devices = 1;
    shape.outputs = seed % 2 == 0;
    const Graph graph(test::random_graph_data(seed, shape));
    const Machine machine = test::byte_per_ns(1);
    const CostModel costs(graph, machine);
    MemoryLedger ledger(costs, std::vector<Bytes>{kUnlimited});
    const Constructed plan = eil(costs, {});
    std::vector<NodeId> order(graph.num_nodes());
    for (NodeId v = 0; v < graph.num_nodes(); ++v) order[-plan.priority[v]] = v;
    const std::vector<DeviceId> unit_device(graph.num_units(), 0);
    std::vector<Nanoseconds> finish(graph.num_nodes());
    for (NodeId v = 0; v < graph.num_nodes(); ++v) finish[v] = plan.start[v] + graph.comp(v);
    for (UnitId u = 0; u < graph.num_units(); ++u) ledger.charge_unit(u, 0);
    for (const NodeId v : order) {
      ledger.place(v, 0, unit_device, finish, plan.start[v]);
      ledger.end(v, 0, unit_device);
    }
    EXPECT_EQ(ledger.live(0), 0) << "seed " << seed;
    Emulator emulator(costs);
    const Schedule& run = emulator.run(plan.device, Policy::fifo);
    EXPECT_GE(ledger.peak(0), MemoryTracker(costs).track(plan.device, run, {}).peak[0]) << "seed " << seed;
  }
}

// However placed: when all has run, nothing but residuals is left.
TEST(MemoryLedger, EverythingIsFreedInTheEnd) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    test::RandomGraphOptions shape;
    shape.nodes = 50;
    shape.devices = 3;
    shape.outputs = seed % 2 == 0;
    const Graph graph(test::random_graph_data(seed, shape));
    const Machine machine = test::byte_per_ns(3);
    const CostModel costs(graph, machine);
    const std::vector<Bytes> budget(3, kUnlimited);
    MemoryLedger ledger(costs, budget);
    std::vector<DeviceId> unit_device(graph.num_units());
    test::TestRandom random(seed);
    for (UnitId u = 0; u < graph.num_units(); ++u) unit_device[u] = static_cast<DeviceId>(random.below(3));
    const std::vector<Nanoseconds> finish(graph.num_nodes(), 0);
    std::vector<Bytes> over(3);
    for (NodeId v = 0; v < graph.num_nodes(); ++v) {
      ledger.assess(v, unit_device, finish, over);
      ledger.place(v, unit_device[graph.unit(v)], unit_device, finish, 0);
      ledger.end(v, unit_device[graph.unit(v)], unit_device);
    }
    for (DeviceId d = 0; d < 3; ++d) EXPECT_EQ(ledger.live(d), 0) << "seed " << seed << " device " << d;
  }
}

}  // namespace
}  // namespace pardnn
