#include "plan/planner.hpp"

#include <gtest/gtest.h>

#include "pardnn/error.hpp"
#include "support/random_graphs.hpp"

namespace pardnn {
namespace {

struct Case {
  Graph graph;
  std::vector<Gradient> gradients;
};

/// A two-layer step: forward, backward, two gradients, two updates; `mem` bytes of activations between the layers.
Case small_case(Bytes mem) {
  GraphData data = test::GraphBuilder()
                       .node("w1", 0, 100).node("w2", 0, 100).node("f1", 1000, mem).node("f2", 1000, mem).node("b2", 1000, mem).node("g2", 500, 100)
                       .node("g1", 500, 100).node("u1", 10).node("u2", 10)
                       .kind("w1", NodeKind::residual).kind("w2", NodeKind::residual).colocate({"w1", "u1"}).colocate({"w2", "u2"})
                       .edge("w1", "f1", 100).edge("f1", "f2", mem).edge("w2", "f2", 100).edge("f2", "b2", mem).edge("w2", "b2", 100).edge("f1", "g2", mem)
                       .edge("b2", "g2", mem).edge("b2", "g1", mem).edge("g1", "u1", 100).edge("g2", "u2", 100)
                       .data();
  data.samples_per_step = 8;
  const std::vector<std::int64_t> gradient_of{-1, -1, -1, -1, -1, 1, 0, -1, -1};
  Case made{Graph(data), {}};
  made.gradients = find_gradients(made.graph, gradient_of);
  return made;
}

std::vector<PlanRow> rows_of(const Case& used, const Machine& machine, PlanOptions options = {}) {
  options.partition.preset = Preset::fast;
  options.partition.threads = 1;
  std::vector<PlanRow> rows;
  EXPECT_TRUE(plan_splits({used.graph, used.gradients, machine}, options, [&](PlanRow row, const Placement& placement) {
    EXPECT_EQ(placement.device.size(), static_cast<std::size_t>(used.graph.num_nodes()));
    rows.push_back(std::move(row));
  }));
  return rows;
}

const PlanRow& best_of(const std::vector<PlanRow>& rows) {
  const PlanRow* best = &rows.front();
  for (const PlanRow& row : rows) best = is_better_plan(row, *best) ? &row : best;
  return *best;
}

TEST(PlanSplits, ManyReplicasWhereOneDeviceHoldsTheModel) {
  const Machine machine = homogeneous_machine(4, 100'000, 100'000'000'000, 1);
  const std::vector<PlanRow> rows = rows_of(small_case(50), machine);
  ASSERT_EQ(rows.size(), 4u);  // K = 1 .. 4, one host
  EXPECT_EQ(rows[0].replicas, 4);
  EXPECT_EQ(rows[1].replicas, 2);
  EXPECT_EQ(rows[2].replicas, 1);
  EXPECT_EQ(rows[3].devices, 4);
  const PlanRow& best = best_of(rows);
  EXPECT_EQ(best.replicas, 4);
  EXPECT_TRUE(best.fits);
  EXPECT_DOUBLE_EQ(best.samples_per_second(8), 4 * 8 * 1e9 / static_cast<double>(best.step.time));
}

TEST(PlanSplits, MoreDevicesAReplicaWhereOneDoesNotHoldIt) {
  const Machine machine = homogeneous_machine(4, 700, 100'000'000'000, 1);
  const std::vector<PlanRow> rows = rows_of(small_case(200), machine);
  EXPECT_FALSE(rows[0].fits);
  const PlanRow& best = best_of(rows);
  EXPECT_TRUE(best.fits);
  EXPECT_GT(best.devices, 1);
}

TEST(PlanSplits, ASlowNetworkKeepsReplicasInOneHost) {
  Machine machine = homogeneous_machine(4, 100'000, 100'000'000'000, 1);
  for (DeviceId d = 0; d < 4; ++d) machine.devices[static_cast<std::size_t>(d)].host = d / 2;
  for (DeviceId p = 0; p < 4; ++p) {
    for (DeviceId q = 0; q < 4; ++q) {
      if (p / 2 != q / 2) machine.bandwidth[machine.link(p, q)] = 1'000'000;
    }
  }
  const std::vector<PlanRow> rows = rows_of(small_case(50), machine);
  const PlanRow& best = best_of(rows);
  EXPECT_EQ(best.replicas, 2);
  EXPECT_EQ(best.devices, 1);
  EXPECT_EQ(best.slices, (std::vector<Slice>{{0}, {1}}));
}

TEST(PlanSplits, OnePlacementForEachKindOfSlice) {
  Machine machine = homogeneous_machine(4, 100'000, 100'000'000'000, 1);
  machine.devices[3].speed = 2 * kOne;
  PlanOptions options;
  options.devices_per_replica = {2};
  const std::vector<PlanRow> rows = rows_of(small_case(50), machine, options);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].distinct_slices, 2);
  EXPECT_EQ(rows[0].replicas, 2);
}

TEST(PlanSplits, OneReplicaWithoutGradients) {
  Case used = small_case(50);
  used.gradients.clear();
  for (const PlanRow& row : rows_of(used, homogeneous_machine(4))) EXPECT_EQ(row.replicas, 1);
}

TEST(PlanSplits, PinnedDevicesSetTheLeastReplica) {
  GraphData data = test::GraphBuilder().node("a", 5, 1).node("b", 5, 1).edge("a", "b", 1).pin("b", 1).data();
  const Case used{Graph(data), {}};
  const std::vector<PlanRow> rows = rows_of(used, homogeneous_machine(3));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].devices, 2);
  PlanOptions one;
  one.devices_per_replica = {1};
  EXPECT_THROW(plan_splits({used.graph, used.gradients, homogeneous_machine(3)}, one, [](PlanRow, const Placement&) {}), InputError);
}

TEST(IsBetterPlan, FitsThenSamplesThenFewerDevices) {
  const auto row = [](int replicas, DeviceId devices, Nanoseconds time, Bytes overflow) {
    PlanRow made;
    made.replicas = replicas;
    made.devices = devices;
    made.step.time = time;
    made.step.overflow = {overflow};
    made.fits = overflow == 0;
    return made;
  };
  EXPECT_TRUE(is_better_plan(row(1, 4, 1000, 0), row(4, 1, 10, 5)));
  EXPECT_TRUE(is_better_plan(row(4, 1, 1000, 0), row(1, 4, 251, 0)));
  EXPECT_FALSE(is_better_plan(row(4, 1, 1000, 0), row(1, 4, 249, 0)));
  EXPECT_TRUE(is_better_plan(row(2, 1, 500, 0), row(1, 4, 250, 0))) << "equal: fewer devices";
  EXPECT_TRUE(is_better_plan(row(1, 4, 1000, 4), row(4, 1, 10, 5))) << "neither fits: less overflow";
}

TEST(DefaultSplits, AllUpToSixteenThenDivisors) {
  EXPECT_EQ(default_splits(homogeneous_machine(3)), (std::vector<DeviceId>{1, 2, 3}));
  EXPECT_EQ(default_splits(homogeneous_machine(20)), (std::vector<DeviceId>{1, 2, 4, 5, 10, 20}));
}

}  // namespace
}  // namespace pardnn
