#include "repair/frozen_run.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "support/random_machines.hpp"

namespace pardnn {
namespace {

/// By direct sums over slots.
TEST(HeldOverTime, IsWhatSlotsSumUpTo) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    test::TestRandom random(seed);
    std::vector<Bytes> slots(static_cast<std::size_t>(1 + random.below(40)));
    for (Bytes& bytes : slots) bytes = random.below(100);
    HeldOverTime held;
    held.assign(slots);
    for (int step = 0; step < 60; ++step) {
      const std::int64_t first = random.below(static_cast<std::int64_t>(slots.size()));
      const std::int64_t last = first + random.below(static_cast<std::int64_t>(slots.size()) - first);
      const Bytes bytes = random.below(41) - 20;
      held.add(first, last, bytes);
      for (std::int64_t i = first; i <= last; ++i) slots[i] += bytes;
      const auto greatest = std::max_element(slots.begin(), slots.end());
      ASSERT_EQ(held.greatest(), *greatest);
      ASSERT_EQ(held.first_greatest(), greatest - slots.begin());
      const std::int64_t any = random.below(static_cast<std::int64_t>(slots.size()));
      ASSERT_EQ(held.at(any), slots[any]);
    }
  }
  HeldOverTime none;
  none.assign({});
  none.add(0, -1, 5);
  EXPECT_EQ(none.greatest(), 0);
}

struct FrozenCase {
  explicit FrozenCase(std::uint64_t seed) {
    test::TestRandom random(seed);
    const DeviceId devices = static_cast<DeviceId>(2 + seed % 4);
    test::RandomGraphOptions options;
    options.nodes = 1 + random.below(40);
    options.devices = devices;
    options.outputs = random.chance(50);
    const GraphData data = test::random_graph_data(seed, options);
    machine = test::random_machine(random, static_cast<test::MachineKind>(random.below(test::kMachineKinds)), devices, 1 + random.below(300), Links::free);
    graph = Graph(data);
    device = graph.to_internal(std::span<const DeviceId>(
        test::random_placement(random, data, test::PlacementKind::respects_units, devices)));
  }
  Machine machine;
  Graph graph;
  std::vector<DeviceId> device;
};

/// Greatest sum on each device over slots that begin where nodes start or end, each holding for all slots that it touches.
std::vector<Bytes> greatest_by_slots(const Judge& judge, std::span<const DeviceId> device) {
  std::vector<Nanoseconds> times{0};
  times.insert(times.end(), judge.schedule().start.begin(), judge.schedule().start.end());
  times.insert(times.end(), judge.schedule().finish.begin(), judge.schedule().finish.end());
  std::sort(times.begin(), times.end());
  times.push_back(kSumLimit);
  std::vector<Bytes> greatest(static_cast<std::size_t>(judge.costs().num_devices()), 0);
  for (std::size_t i = 0; i + 1 < times.size(); ++i) {
    if (times[i] == times[i + 1]) continue;
    std::vector<Bytes> held(greatest.size(), 0);
    MemoryTracker(judge.costs()).visit_holdings(device, judge.schedule(), judge.delivered(), [&](const Holding& holding) {
      if (holding.from < times[i + 1] && holding.to > times[i]) held[holding.device] += holding.bytes;
    });
    for (std::size_t d = 0; d < held.size(); ++d) greatest[d] = std::max(greatest[d], held[d]);
  }
  return greatest;
}

/// The run itself exactly; after moves, the moved placement at the old times; and all back again when they are taken back.
TEST(FrozenRun, IsTheMovedPlacementAtTheOldTimes) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const FrozenCase given(seed);
    const CostModel costs(given.graph, given.machine);
    Judge judge(costs, seed % 2 == 0 ? Policy::fifo : Policy::priority);
    if (!judge.memory_matters()) continue;
    const Score score = judge.score(given.device);
    FrozenRun frozen(costs);
    frozen.freeze(judge, given.device);
    ASSERT_EQ(frozen.overflow(), score.overflow);
    const std::vector<Bytes> before = greatest_by_slots(judge, given.device);
    test::TestRandom random(seed);
    std::vector<std::vector<DeviceId>> history{given.device};
    for (int i = 0; i < 6; ++i) {
      const auto nodes = given.graph.unit_nodes(random.below(given.graph.num_units()));
      const DeviceId to = static_cast<DeviceId>(random.below(costs.num_devices()));
      frozen.move(nodes, to);
      history.push_back(history.back());
      for (const NodeId v : nodes) history.back()[v] = to;
    }
    for (; !history.empty(); history.pop_back()) {
      ASSERT_EQ(frozen.device(), history.back());
      const std::vector<Bytes> now = greatest_by_slots(judge, history.back());
      Bytes overflow = 0;
      for (DeviceId d = 0; d < costs.num_devices(); ++d) {
        ASSERT_EQ(frozen.excess(d), now[d] - before[d] + judge.peaks().peak[d] - judge.usable(d));
        ASSERT_EQ(frozen.excess_at(d, frozen.peak_slot(d)), frozen.excess(d));
        overflow += std::max<Bytes>(0, frozen.excess(d));
      }
      ASSERT_EQ(frozen.overflow(), overflow);
      if (history.size() > 1) frozen.undo();
    }
  }
}

}  // namespace
}  // namespace pardnn
