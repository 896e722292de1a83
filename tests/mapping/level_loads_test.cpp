#include "mapping/level_loads.hpp"

#include <gtest/gtest.h>

#include "support/random_graphs.hpp"

namespace pardnn {
namespace {

TEST(LevelLoads, RandomMovesAgreeWithPlainSums) {
  for (const std::int64_t nodes : {1, 31, 32, 33, 64, 300}) {
    const Graph graph(test::random_graph_data(static_cast<std::uint64_t>(nodes), test::RandomGraphOptions::plain(nodes)));
    Machine machine = homogeneous_machine(3);
    machine.devices[1].speed = 2'000'000;
    const CostModel costs(graph, machine);
    const LevelIndex index(graph, weighted_levels(costs));
    LevelLoads loads(costs, index);
    std::vector<DeviceId> device(nodes, kNoDevice);
    test::TestRandom random(7);
    for (int step = 0; step < 500; ++step) {
      const NodeId v = random.below(nodes);
      if (device[v] != kNoDevice) {
        loads.remove(v);
        device[v] = kNoDevice;
      } else {
        device[v] = static_cast<DeviceId>(random.below(3));
        loads.add(v, device[v]);
      }
      EXPECT_EQ(loads.device(v), device[v]);
      LevelRange range{random.below(nodes + 1), random.below(nodes + 1)};
      if (range.from > range.to) std::swap(range.from, range.to);
      std::vector<Nanoseconds> found(3, -1), expected(3, 0);
      loads.loads(range, found);
      for (std::int64_t i = range.from; i < range.to; ++i) {
        const NodeId u = index.node(i);
        if (device[u] != kNoDevice) expected[device[u]] += costs.duration(u, device[u]);
      }
      ASSERT_EQ(found, expected);
    }
  }
}

}  // namespace
}  // namespace pardnn
