#include "order/depth_first_order.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "generators/generators.hpp"
#include "judge/judge.hpp"
#include "levels/weighted_levels.hpp"
#include "order/micro_batches.hpp"
#include "pardnn/emulate.hpp"
#include "support/random_machines.hpp"

namespace pardnn {
namespace {

constexpr BranchOrder kBranches[] = {BranchOrder::least_bottom_level, BranchOrder::greatest_bottom_level};

Bytes peak_alone(const Graph& graph, Policy policy, std::span<const std::int64_t> priority) {
  const Placement placement{std::vector<DeviceId>(static_cast<std::size_t>(graph.num_nodes()), 0), {priority.begin(), priority.end()}};
  return evaluate(graph, homogeneous_machine(1), placement, policy).greatest_peak();
}

TEST(DepthFirstOrder, IsATopologicalOrderOfAnyGraph) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const test::RandomCase c = test::random_case(seed);
    const Graph graph(c.data);
    const CostModel costs(graph, c.machine);
    for (const BranchOrder branches : kBranches) {
      const std::vector<NodeId> order = depth_first_order(costs, branches);
      ASSERT_EQ(order.size(), static_cast<std::size_t>(graph.num_nodes())) << "seed " << seed;
      std::vector<std::int64_t> place(order.size(), -1);
      for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<std::int64_t>(i);
      for (NodeId v = 0; v < graph.num_nodes(); ++v) {
        ASSERT_GE(place[v], 0) << "seed " << seed;
        for (EdgeId e = graph.out_begin(v); e < graph.out_end(v); ++e) EXPECT_LT(place[v], place[graph.target(e)]) << "seed " << seed;
      }
    }
  }
}

TEST(DepthFirstOrder, IsHowOneDeviceRuns) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    test::RandomGraphOptions options;
    options.devices = 1;
    const Graph graph(test::random_graph_data(seed, options));
    const Machine machine = homogeneous_machine(1);
    const CostModel costs(graph, machine);
    const std::vector<NodeId> order = depth_first_order(costs, BranchOrder::least_bottom_level);
    const Placement placement{std::vector<DeviceId>(order.size(), 0), priority_of_order(order)};
    EXPECT_EQ(emulate(graph, machine, placement, Policy::priority).start_order, order) << "seed " << seed;
  }
}

// In one window bottom levels decide, in as many windows as nodes the order is left alone; nodes never leave their window.
TEST(DepthFirstOrder, IsSoftenedWithinWindows) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const test::RandomCase c = test::random_case(seed);
    const Graph graph(c.data);
    const CostModel costs(graph, c.machine);
    const std::vector<NodeId> order = depth_first_order(costs, BranchOrder::greatest_bottom_level);
    const std::int64_t count = static_cast<std::int64_t>(order.size());
    EXPECT_EQ(soften(costs, order, 2 * count + 1), order);
    const std::vector<Nanoseconds> bottom = weighted_levels(costs).bottom;
    const std::vector<NodeId> one = soften(costs, order, 1);
    for (std::size_t i = 1; i < one.size(); ++i) EXPECT_GE(bottom[one[i - 1]], bottom[one[i]]);
    const std::vector<NodeId> three = soften(costs, order, 3);
    for (std::int64_t begin = 0; begin < count; begin += count / 3 + 1) {
      const std::int64_t end = std::min(begin + count / 3 + 1, count);
      EXPECT_TRUE(std::is_permutation(three.begin() + begin, three.begin() + end, order.begin() + begin)) << "seed " << seed;
    }
  }
}

// 40 layers, two micro-batches: the second goes forwards and backwards, then the first; a weight or an input right before its reader.
TEST(DepthFirstOrder, FinishesAMicroBatchBeforeTheNext) {
  const Graph graph(test::micro_batches(40, 2));
  const Machine machine = homogeneous_machine(1);
  const CostModel costs(graph, machine);
  const std::vector<NodeId> order = depth_first_order(costs, BranchOrder::least_bottom_level);
  std::vector<std::size_t> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[graph.file_id(order[i])] = i;
  const std::size_t nodes_of_a_batch = 1 + 3 * 40, first = 40;
  std::vector<std::size_t> batch_0(place.begin() + static_cast<std::ptrdiff_t>(first), place.begin() + static_cast<std::ptrdiff_t>(first + nodes_of_a_batch));
  std::vector<std::size_t> batch_1(place.begin() + static_cast<std::ptrdiff_t>(first + nodes_of_a_batch), place.end());
  EXPECT_LT(*std::max_element(batch_1.begin(), batch_1.end()), *std::min_element(batch_0.begin(), batch_0.end()));
}

// 8 micro-batches of 40 layers: fifo holds all 320 activations at once, depth first those of one micro-batch.
TEST(DepthFirstOrder, HoldsTheActivationsOfOneMicroBatch) {
  const Graph graph(test::micro_batches(40, 8));
  const Machine machine = homogeneous_machine(1);
  const CostModel costs(graph, machine);
  EXPECT_GE(peak_alone(graph, Policy::fifo, {}), 8 * 40 * 100);
  for (const BranchOrder branches : kBranches) {
    const Bytes residuals_and_gradients = 40 * 10 + 41 * 10;
    EXPECT_LE(peak_alone(graph, Policy::priority, priority_of_order(depth_first_order(costs, branches))),
              40 * 100 + residuals_and_gradients + 200);
  }
}

TEST(DepthFirstOrder, HalvesThePeakOfGeneratedMicroBatches) {
  for (const char* kind : {"transformer", "lstm"}) {
    GenerateOptions options;
    options.kind = kind;
    options.nodes = 6'000;
    options.micro_batches = 8;
    const Graph graph(generate_in_memory(options));
    const Machine machine = homogeneous_machine(1);
    const CostModel costs(graph, machine);
    const Bytes fifo = peak_alone(graph, Policy::fifo, {});
    const Bytes depth_first = peak_alone(graph, Policy::priority, priority_of_order(depth_first_order(costs, BranchOrder::least_bottom_level)));
    EXPECT_LT(2 * depth_first, fifo) << kind;
  }
}

}  // namespace
}  // namespace pardnn
