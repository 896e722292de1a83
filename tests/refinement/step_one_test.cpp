#include "refinement/step_one.hpp"

#include <gtest/gtest.h>

#include <set>

#include "emulation/emulator.hpp"
#include "parallel/threads.hpp"
#include "support/random_graphs.hpp"

namespace pardnn {
namespace {

using test::RandomGraphOptions;

/// Units together, pins kept, every device in range.
void expect_legal(const Graph& graph, DeviceId devices, const std::vector<DeviceId>& device) {
  ASSERT_EQ(static_cast<NodeId>(device.size()), graph.num_nodes());
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    ASSERT_GE(device[v], 0);
    ASSERT_LT(device[v], devices);
    EXPECT_EQ(device[v], device[graph.unit_nodes(graph.unit(v)).front()]);
    if (graph.fixed(v) != kNoDevice) {
      EXPECT_EQ(device[v], graph.fixed(v));
    }
  }
}

TEST(StepOne, RespectsUnitsAndPinsOnRandomGraphs) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const RandomGraphOptions options{.nodes = static_cast<std::int64_t>(seed % 60), .window = seed % 3 == 0 ? 4 : 0, .colocated = 30,
                                     .aliased = 20, .pinned = seed % 2 == 0 ? 10 : 60, .devices = 3, .outputs = seed % 4 == 0};
    const Graph graph(test::random_graph_data(seed, options));
    for (const DeviceId devices : {3, 4, 17}) {
      Machine machine = homogeneous_machine(devices, kUnlimited, 1'000'000'000, 2);
      if (seed % 5 == 0) machine.devices[1].speed = 2'500'000;
      const CostModel costs(graph, machine);
      for (const bool level_aware : {true, false}) {
        for (const DeviceId allowed : {0, 1, 2}) {
          expect_legal(graph, devices,
                       paper_step_one(costs, {.level_aware = level_aware, .initial_merge = seed % 2 == 0, .devices = allowed,
                                              .jitter = seed % 3 == 0 ? 200'000 : 0, .jitter_seed = seed, .confirm = {}}));
        }
      }
    }
  }
}

TEST(StepOne, OneDeviceTakesAll) {
  const Graph graph(test::random_graph_data(2, {.nodes = 40, .devices = 1}));
  const Machine machine = homogeneous_machine(1);
  EXPECT_EQ(paper_step_one(CostModel(graph, machine), {}), std::vector<DeviceId>(40, 0));
}

TEST(StepOne, EmptyGraphAndFewNodes) {
  const Machine machine = homogeneous_machine(8);
  const Graph empty;
  EXPECT_TRUE(paper_step_one(CostModel(empty, machine), {}).empty());
  const Graph three(test::chain(3));
  expect_legal(three, 8, paper_step_one(CostModel(three, machine), {}));
}

TEST(StepOne, ChainStaysOnOneDevice) {
  const Graph graph(test::chain(5000, 3, 100));
  const Machine machine = homogeneous_machine(4);
  EXPECT_EQ(paper_step_one(CostModel(graph, machine), {}), std::vector<DeviceId>(5000, 0));
}

TEST(StepOne, StarOfManyLeavesIsSpreadEvenly) {
  const Graph graph(test::star(100'000, 10, 1));
  const Machine machine = homogeneous_machine(4, kUnlimited, 1'000'000'000, 0);
  std::vector<std::int64_t> nodes(4, 0);
  for (const DeviceId d : paper_step_one(CostModel(graph, machine), {})) ++nodes[d];
  for (const std::int64_t n : nodes) EXPECT_NEAR(static_cast<double>(n), 25'000, 300);
}

TEST(StepOne, CliqueWithoutBytesIsLegal) {
  const Graph graph(test::clique(10));
  const Machine machine = homogeneous_machine(2);
  const std::vector<DeviceId> device = paper_step_one(CostModel(graph, machine), {});
  expect_legal(graph, 2, device);
  EXPECT_EQ(std::set<DeviceId>(device.begin(), device.end()).size(), 1u) << "one path: cut 0";
}

TEST(StepOne, ConfirmSeesEachStageAndMayRefuse) {
  int refined = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Graph graph(test::random_graph_data(seed, {.nodes = 120, .window = 15, .devices = 3}));
    const Machine machine = homogeneous_machine(3, kUnlimited, 1'000'000'000, 1);
    const CostModel costs(graph, machine);
    const std::vector<DeviceId> mapped = paper_step_one(costs, {.swap = false, .switch_ = false, .confirm = {}});
    std::vector<std::vector<DeviceId>> seen;
    StepOneOptions options;
    options.confirm = [&](std::span<const DeviceId> device) {
      seen.emplace_back(device.begin(), device.end());
      return false;
    };
    EXPECT_EQ(paper_step_one(costs, options), mapped) << "every refinement was refused";
    ASSERT_FALSE(seen.empty());
    EXPECT_EQ(seen.front(), mapped);
    refined += seen.size() > 1 ? 1 : 0;

    // A driver that keeps what the emulated run confirms never ends above the mapping.
    Emulator emulator(costs);
    Nanoseconds best = INT64_MAX;
    options.confirm = [&](std::span<const DeviceId> device) {
      const Nanoseconds makespan = emulator.run(device, Policy::fifo).makespan;
      if (makespan >= best) return false;
      best = makespan;
      return true;
    };
    EXPECT_EQ(emulator.run(paper_step_one(costs, options), Policy::fifo).makespan, best);
  }
  EXPECT_GT(refined, 15);
}

TEST(StepOne, ReportsItsStages) {
  const Graph graph(test::random_graph_data(1, {.nodes = 50}));
  const Machine machine = homogeneous_machine(2);
  std::vector<StageTime> stages;
  paper_step_one(CostModel(graph, machine), {}, nullptr, &stages);
  std::vector<std::string> names;
  for (const StageTime& stage : stages) names.push_back(stage.name);
  EXPECT_EQ(names, (std::vector<std::string>{"slicing", "levels", "mapping", "refinement"}));
}

TEST(StepOne, SameOnAllThreads) {
  for (const std::int64_t window : {20, 0}) {
    const Graph graph(test::random_graph_data(5, {.nodes = 30'000, .window = window, .devices = 4}));
    const Machine machine = homogeneous_machine(4);
    const CostModel costs(graph, machine);
    std::vector<std::vector<DeviceId>> found;
    for (const int threads : {1, 2, 3, 8}) {
      const ThreadScope scope(threads);
      found.push_back(paper_step_one(costs, {}));
    }
    for (const std::vector<DeviceId>& device : found) EXPECT_EQ(device, found.front());
  }
}

}  // namespace
}  // namespace pardnn
