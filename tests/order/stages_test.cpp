#include "order/stages.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "memory/evaluate.hpp"
#include "order/micro_batches.hpp"
#include "support/random_machines.hpp"

namespace pardnn {
namespace {

/// Device of the forward node of layer `l`, micro-batch 0 (file ids of test::micro_batches with `layers` layers).
DeviceId device_of_layer(const Graph& graph, const std::vector<DeviceId>& device, int layers, int l) {
  return graph.to_file_order<DeviceId>(device)[layers + 1 + l];
}

std::vector<DeviceId> devices_of_layers(const Graph& graph, const std::vector<DeviceId>& device, int layers) {
  std::vector<DeviceId> result;
  for (int l = 0; l < layers; ++l) result.push_back(device_of_layer(graph, device, layers, l));
  return result;
}

TEST(Stages, AreContiguousAndEven) {
  constexpr int kLayers = 8;
  const Graph graph(test::micro_batches(kLayers, 3));
  const Machine machine = homogeneous_machine(2);
  const CostModel costs(graph, machine);
  const Stages stages(costs, affinity_groups(costs));
  EXPECT_EQ(devices_of_layers(graph, stages.cut(StageShape::blocks), kLayers), (std::vector<DeviceId>{0, 0, 0, 0, 1, 1, 1, 1}));
  EXPECT_EQ(devices_of_layers(graph, stages.cut(StageShape::wave), kLayers), (std::vector<DeviceId>{0, 0, 1, 1, 1, 1, 0, 0}));
}

TEST(Stages, KeepForwardAndBackwardOfALayerTogether) {
  constexpr int kLayers = 8, kBatches = 3;
  const Graph graph(test::micro_batches(kLayers, kBatches));
  const Machine machine = homogeneous_machine(4);
  const CostModel costs(graph, machine);
  const std::vector<DeviceId> device = graph.to_file_order<DeviceId>(Stages(costs, affinity_groups(costs)).cut(StageShape::blocks));
  for (int j = 0; j < kBatches; ++j) {
    const int first = kLayers + j * (1 + 3 * kLayers);
    for (int l = 0; l < kLayers; ++l) {
      const int forward = first + 1 + l, backward = first + 1 + kLayers + 2 * (kLayers - 1 - l);
      EXPECT_EQ(device[forward], device[l]);
      EXPECT_EQ(device[backward], device[l]);
    }
  }
}

TEST(Stages, HeavierWeightsGetFewerLayers) {
  constexpr int kLayers = 12;
  const Graph graph(test::micro_batches(kLayers, 2));
  const Machine machine = homogeneous_machine(2);
  const CostModel costs(graph, machine);
  Stages stages(costs, affinity_groups(costs));
  const auto layers_on_0 = [&](const std::vector<DeviceId>& device) {
    const std::vector<DeviceId> of = devices_of_layers(graph, device, kLayers);
    return std::count(of.begin(), of.end(), 0);
  };
  const std::vector<DeviceId> even = stages.cut(StageShape::blocks);
  EXPECT_EQ(layers_on_0(even), 6);
  const std::vector<Millionths> factor{2 * kOne, kOne};
  stages.scale(even, factor);
  EXPECT_EQ(layers_on_0(stages.cut(StageShape::blocks)), 4);  // 6 layers of weight 2 and 6 of 1: half of all is reached within the fifth
  for (int i = 0; i < 200; ++i) stages.scale(stages.cut(StageShape::blocks), factor);  // weights stay in bounds
  EXPECT_LE(layers_on_0(stages.cut(StageShape::blocks)), 6);
}

TEST(Stages, AreLegalOnAnyGraphAndMachine) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const test::RandomCase c = test::random_case(seed);
    const Graph graph(c.data);
    const CostModel costs(graph, c.machine);
    Stages stages(costs, affinity_groups(costs));
    for (const StageShape shape : {StageShape::blocks, StageShape::wave}) {
      const std::vector<DeviceId> device = stages.cut(shape);
      ASSERT_EQ(device.size(), static_cast<std::size_t>(graph.num_nodes()));
      EXPECT_TRUE(broken_rules(graph, device).empty()) << "seed " << seed;
      for (const DeviceId d : device) {
        EXPECT_GE(d, 0);
        EXPECT_LT(d, c.machine.num_devices());
      }
      stages.scale(device, std::vector<Millionths>(static_cast<std::size_t>(c.machine.num_devices()), 3 * kOne));
    }
  }
}

}  // namespace
}  // namespace pardnn
