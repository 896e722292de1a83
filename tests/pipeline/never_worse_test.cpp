/// The result never loses to what anybody could do without this tool: one device, round robin, blocks of equal work.
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "baselines/baselines.hpp"
#include "judge/judge.hpp"
#include "memory/evaluate.hpp"
#include "pardnn/io.hpp"
#include "pardnn/partition.hpp"
#include "support/random_machines.hpp"

namespace pardnn {
namespace {

constexpr std::string_view kGraphs[] = {"pt-char-crn-8x2048", "pt-dlrm-26",         "pt-gpt2-small-12", "pt-inception-v3",
                                        "pt-unet-512",        "pt-word-rnn-8x2048", "pt-wrn-100-k14"};
constexpr std::string_view kTrivial[] = {"single", "rr", "blocks", "blocks-id"};

Graph data_graph(std::string_view name) { return Graph(read_graph_data(PARDNN_TEST_DATA "/" + std::string(name) + ".h5")); }

Score score_of(const Evaluation& evaluation) {
  return {evaluation.total_overflow(), evaluation.makespan, evaluation.greatest_peak()};
}

/// Everything trivial, judged; each device alone as well where no pin forbids it.
std::vector<std::pair<std::string, Score>> trivial_scores(const Graph& graph, const Machine& machine, Policy policy) {
  const CostModel costs(graph, machine);
  std::vector<std::pair<std::string, Score>> scores;
  const auto judged = [&](std::string name, std::vector<DeviceId> device) {
    EXPECT_EQ(device.size(), static_cast<std::size_t>(graph.num_nodes()));
    if (!broken_rules(graph, device).empty()) return;
    scores.emplace_back(std::move(name), score_of(evaluate(graph, machine, {std::move(device), {}}, policy)));
  };
  for (const Baseline& baseline : all_baselines()) {
    for (const std::string_view name : kTrivial) {
      if (baseline.name == name) judged(std::string(name), baseline.run(costs).device);
    }
  }
  for (DeviceId d = 0; d < machine.num_devices(); ++d) {
    judged("all on device " + std::to_string(d), std::vector<DeviceId>(static_cast<std::size_t>(graph.num_nodes()), d));
  }
  return scores;
}

void expect_never_worse(const Graph& graph, const Machine& machine, Policy policy, Preset preset) {
  Options options;
  options.preset = preset;
  options.policy = policy;
  const Result result = partition(graph, machine, options);
  EXPECT_TRUE(result.evaluation.broken.empty());
  EXPECT_GE(result.evaluation.makespan, result.evaluation.lower_bound);
  const std::vector<std::pair<std::string, Score>> scores = trivial_scores(graph, machine, policy);
  for (const auto& [name, score] : scores) {
    SCOPED_TRACE(name);
    EXPECT_FALSE(score.feasible() && !result.evaluation.feasible);
    if (score.feasible()) {
      EXPECT_LE(result.evaluation.makespan, score.makespan);
    } else {
      EXPECT_LE(result.evaluation.total_overflow(), score.overflow);
    }
  }
}

class NeverWorse : public ::testing::TestWithParam<std::string_view> {};

TEST_P(NeverWorse, WithoutAMemoryLimit) {
  const Graph graph = data_graph(GetParam());
  for (const DeviceId devices : {2, 4, 8}) {
    SCOPED_TRACE(devices);
    Machine machine = homogeneous_machine(devices);
    machine.links = devices == 4 ? Links::ports : Links::free;
    expect_never_worse(graph, machine, devices == 8 ? Policy::priority : Policy::fifo, Preset::fast);
  }
}

TEST_P(NeverWorse, WithTightMemoryAndTwoHosts) {
  const Graph graph = data_graph(GetParam());
  const std::vector<DeviceId> one(static_cast<std::size_t>(graph.num_nodes()), 0);
  const Bytes all = evaluate(graph, homogeneous_machine(1), {one, {}}, Policy::fifo).greatest_peak();
  Machine machine = homogeneous_machine(4, all / 2, 200'000'000'000, 3'000);
  for (DeviceId p = 0; p < 4; ++p) {
    machine.devices[p].host = p / 2;
    for (DeviceId q = 0; q < 4; ++q) {
      if (p / 2 == q / 2) continue;
      machine.latency[machine.link(p, q)] = 12'000;
      machine.bandwidth[machine.link(p, q)] = 23'000'000'000;
    }
  }
  expect_never_worse(graph, machine, Policy::fifo, Preset::fast);
}

INSTANTIATE_TEST_SUITE_P(Graphs, NeverWorse, ::testing::ValuesIn(kGraphs),
                         [](const ::testing::TestParamInfo<std::string_view>& tested) {
                           std::string name(tested.param);
                           for (char& c : name) {
                             if (c == '-') c = '_';
                           }
                           return name;
                         });

TEST(NeverWorse, StandardOnASmallGraph) {
  expect_never_worse(data_graph("pt-dlrm-26"), homogeneous_machine(4), Policy::fifo, Preset::standard);
}

TEST(NeverWorse, OnRandomGraphsAndMachines) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const test::RandomCase drawn = test::random_case(seed);
    expect_never_worse(Graph(drawn.data), drawn.machine, drawn.policy, Preset::fast);
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace pardnn
