/// Same graph, machine, preset, seed and policy: the same placement, whatever the threads and however often.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "pardnn/io.hpp"
#include "pardnn/partition.hpp"
#include "support/random_machines.hpp"

namespace pardnn {
namespace {

struct PipelineCase {
  const char* graph;
  Preset preset;
  Policy policy;
  Links links;
  DeviceId devices;
};

Graph data_graph(const std::string& name) { return Graph(read_graph_data(PARDNN_TEST_DATA "/" + name + ".h5")); }

/// Twice the average share of a single device's peak, so that memory decides where things go.
Machine tight_machine(const Graph& graph, DeviceId devices, Links links) {
  const std::vector<DeviceId> one(static_cast<std::size_t>(graph.num_nodes()), 0);
  const Bytes all = evaluate(graph, homogeneous_machine(1), {one, {}}, Policy::fifo).greatest_peak();
  Machine machine = homogeneous_machine(devices, 2 * all / devices);
  machine.links = links;
  return machine;
}

Result run(const Graph& graph, const Machine& machine, const PipelineCase& what, int threads) {
  Options options;
  options.preset = what.preset;
  options.policy = what.policy;
  options.threads = threads;
  return partition(graph, machine, options);
}

void expect_same(const Result& a, const Result& b) {
  EXPECT_EQ(a.placement.device, b.placement.device);
  EXPECT_EQ(a.placement.priority, b.placement.priority);
  EXPECT_EQ(a.schedule.start_order, b.schedule.start_order);
  EXPECT_EQ(a.schedule.start, b.schedule.start);
  EXPECT_EQ(a.evaluation.makespan, b.evaluation.makespan);
  EXPECT_EQ(a.method, b.method);
}

class Determinism : public ::testing::TestWithParam<PipelineCase> {};

TEST_P(Determinism, SamePlacementOnAnyNumberOfThreads) {
  const PipelineCase what = GetParam();
  const Graph graph = data_graph(what.graph);
  const Machine machine = tight_machine(graph, what.devices, what.links);
  const Result serial = run(graph, machine, what, 1);
  for (const int threads : {2, 3, 8}) {
    SCOPED_TRACE(threads);
    expect_same(run(graph, machine, what, threads), serial);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Graphs, Determinism,
    ::testing::Values(PipelineCase{"pt-char-crn-8x2048", Preset::fast, Policy::fifo, Links::free, 4},
                      PipelineCase{"pt-dlrm-26", Preset::fast, Policy::priority, Links::ports, 3},
                      PipelineCase{"pt-gpt2-small-12", Preset::fast, Policy::fifo, Links::ports, 8},
                      PipelineCase{"pt-inception-v3", Preset::fast, Policy::priority, Links::free, 2},
                      PipelineCase{"pt-unet-512", Preset::fast, Policy::fifo, Links::free, 4},
                      PipelineCase{"pt-word-rnn-8x2048", Preset::fast, Policy::priority, Links::free, 4},
                      PipelineCase{"pt-wrn-100-k14", Preset::fast, Policy::fifo, Links::ports, 2},
                      PipelineCase{"pt-dlrm-26", Preset::standard, Policy::fifo, Links::free, 4},
                      PipelineCase{"pt-inception-v3", Preset::standard, Policy::priority, Links::ports, 4}),
    [](const ::testing::TestParamInfo<PipelineCase>& tested) {
      std::string name = std::string(tested.param.graph) + (tested.param.preset == Preset::fast ? "_fast" : "_standard");
      for (char& c : name) {
        if (c == '-') c = '_';
      }
      return name;
    });

// Row B5 of the user reports: the same call again in one process gives the same map; nothing is carried over, also not
// from calls on other graphs in between.
TEST(Determinism, FiveCallsInOneProcessAreEqual) {
  const PipelineCase what{"pt-dlrm-26", Preset::standard, Policy::priority, Links::free, 3};
  const Graph graph = data_graph(what.graph), other = data_graph("pt-unet-512");
  const Machine machine = tight_machine(graph, what.devices, what.links);
  const Result first = run(graph, machine, what, 2);
  for (int i = 0; i < 4; ++i) {
    run(other, tight_machine(other, 2, Links::free), {"", Preset::fast, Policy::fifo, Links::free, 2}, 2);
    expect_same(run(graph, machine, what, 2), first);
  }
}

TEST(Determinism, RandomGraphsAndMachines) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    const test::RandomCase drawn = test::random_case(seed);
    const Graph graph(drawn.data);
    const PipelineCase what{"", Preset::fast, drawn.policy, drawn.machine.links, drawn.machine.num_devices()};
    const Result serial = run(graph, drawn.machine, what, 1);
    expect_same(run(graph, drawn.machine, what, 3), serial);
  }
}

}  // namespace
}  // namespace pardnn
