/// The whole pipeline against every placement of small graphs.
#include <gtest/gtest.h>

#include <iostream>
#include <limits>
#include <span>

#include "judge/judge.hpp"
#include "pardnn/partition.hpp"
#include "search/anneal.hpp"
#include "support/brute_force.hpp"
#include "support/oracle.hpp"
#include "support/tight_case.hpp"

namespace pardnn {
namespace {

constexpr Nanoseconds kNone = std::numeric_limits<Nanoseconds>::max();

/// The least makespan of all feasible placements (under Policy::priority: with default priorities), kNone if there is none.
Nanoseconds best_makespan(const Graph& graph, const test::TightCase& tight) {
  const CostModel costs(graph, tight.machine);
  Judge judge(costs, tight.policy);
  Score best{0, kNone, 0};
  test::for_each_placement(graph, tight.machine.num_devices(), [&](const std::vector<DeviceId>& device) {
    Score score;
    if (judge.score_within(device, {}, best, score) && score.feasible()) best = score;
  });
  return best.makespan;
}

/// What came of a series of cases.
struct Tally {
  int cases = 0, solvable = 0, missed = 0, best = 0;
  double ratio = 0;

  /// Mean of makespan / best makespan over the cases that were solved.
  double mean_ratio() const { return solvable > missed ? ratio / (solvable - missed) : 1; }
};

std::ostream& operator<<(std::ostream& out, const Tally& tally) {
  return out << tally.cases << " cases, " << tally.solvable << " have a feasible placement, " << tally.missed << " of them missed, "
             << tally.best << " reach the best makespan, mean ratio to it " << tally.mean_ratio();
}

/// Judged once more by the oracle: what the result says of itself is true.
void expect_true(const test::TightCase& tight, const Graph& graph, const Result& result) {
  const std::vector<DeviceId> device = graph.to_file_order(std::span<const DeviceId>(result.placement.device));
  std::vector<std::int64_t> priority;
  if (!result.placement.priority.empty()) {
    priority = graph.to_file_order(std::span<const std::int64_t>(result.placement.priority));
  }
  const test::OracleVerdict verdict = test::oracle_judge(tight.data, tight.machine, device, tight.policy, priority);
  EXPECT_TRUE(verdict.broken.empty());
  EXPECT_EQ(result.evaluation.makespan, verdict.run.makespan);
  EXPECT_EQ(result.evaluation.feasible, verdict.feasible);
  EXPECT_EQ(result.evaluation.lower_bound, verdict.lower_bound);
  for (std::size_t d = 0; d < verdict.peak.size(); ++d) EXPECT_EQ(result.evaluation.devices[d].peak, verdict.peak[d]);
}

void run_case(const test::TightCase& tight, Preset preset, Tally& tally) {
  const Graph graph(tight.data);
  const Nanoseconds best = best_makespan(graph, tight);
  Options options;
  options.preset = preset;
  options.policy = tight.policy;
  options.threads = 1;
  const Result result = partition(graph, tight.machine, options);
  expect_true(tight, graph, result);
  ++tally.cases;
  if (result.cannot_fit) {
    EXPECT_EQ(best, kNone) << result.proof;
  }
  if (best == kNone) return;
  ++tally.solvable;
  if (!result.evaluation.feasible) {
    ++tally.missed;
    return;
  }
  tally.best += result.evaluation.makespan <= best ? 1 : 0;
  tally.ratio += best == 0 ? 1 : static_cast<double>(result.evaluation.makespan) / static_cast<double>(best);
}

Tally run_cases(std::uint64_t first, std::uint64_t last, std::int64_t nodes, Policy policy, Preset preset) {
  Tally tally;
  for (std::uint64_t seed = first; seed < last; ++seed) {
    SCOPED_TRACE(seed);
    test::TightCase tight(seed, nodes);
    tight.policy = policy;
    run_case(tight, preset, tally);
  }
  return tally;
}

void expect_none_missed(const Tally& tally, int solvable) {
  EXPECT_GT(tally.solvable, solvable);
  EXPECT_EQ(tally.missed, 0);
  EXPECT_LE(tally.mean_ratio(), 1.05);
}

TEST(BruteForce, StrongUnderFifo) {
  const Tally tally = run_cases(0, 300, 10, Policy::fifo, Preset::strong);
  std::cout << "strong, fifo: " << tally << '\n';
  expect_none_missed(tally, 100);
}

// Orders are searched as well as placements here, which takes seconds a case with `strong`, however small it is.
TEST(BruteForce, StandardUnderPriority) {
  const Tally tally = run_cases(600, 620, 9, Policy::priority, Preset::standard);
  std::cout << "standard, priority: " << tally << '\n';
  expect_none_missed(tally, 5);
}

TEST(BruteForce, StrongUnderPriority) {
  const Tally tally = run_cases(6, 7, 7, Policy::priority, Preset::strong);
  std::cout << "strong, priority: " << tally << '\n';
  expect_none_missed(tally, 0);
}

TEST(BruteForce, FastUnderPriority) {
  const Tally tally = run_cases(300, 600, 9, Policy::priority, Preset::fast);
  std::cout << "fast, priority: " << tally << '\n';
  expect_none_missed(tally, 100);
}

/// Nine free units on three devices, so that nothing ties the search down but memory.
test::TightCase free_units_case(std::uint64_t seed) {
  test::TightCase tight(2 * seed + 1, 1);
  test::RandomGraphOptions options = test::RandomGraphOptions::plain(9, seed % 3 == 0 ? 4 : 0);
  options.residual = 30;
  tight.data = test::random_graph_data(seed, options);
  Bytes all = 10;
  for (const Bytes mem : tight.data.mem) all += mem;
  test::TestRandom random(seed);
  const auto kind = static_cast<test::MachineKind>(seed % test::kMachineKinds);
  const auto share = static_cast<Bytes>(25 + seed * 7 % 40);
  tight.machine = test::random_machine(random, kind, 3, all * share / 100, seed % 2 == 1 ? Links::free : Links::ports);
  tight.policy = Policy::fifo;
  tight.device = test::random_placement(random, tight.data, test::PlacementKind::respects_units, 3);
  return tight;
}

/// Annealing alone, from one random placement.
Tally anneal_cases(std::int64_t start_millionths) {
  Tally tally;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const test::TightCase tight = free_units_case(seed);
    const Graph graph(tight.data);
    const Nanoseconds best = best_makespan(graph, tight);
    ++tally.cases;
    if (best == kNone) continue;
    ++tally.solvable;
    const CostModel costs(graph, tight.machine);
    Judge judge(costs, tight.policy);
    Candidate start;
    start.device = graph.to_internal(std::span<const DeviceId>(tight.device));
    start.score = judge.score(start.device);
    AnnealOptions options;
    options.runs = 10'000;
    options.start_millionths = start_millionths;
    const Candidate result = anneal(judge, start, options);
    EXPECT_FALSE(start.score < result.score);
    EXPECT_EQ(judge.score(result.device), result.score);
    if (!result.score.feasible()) {
      ++tally.missed;
      continue;
    }
    EXPECT_GE(result.score.makespan, best);
    tally.best += result.score.makespan == best ? 1 : 0;
    tally.ratio += best == 0 ? 1 : static_cast<double>(result.score.makespan) / static_cast<double>(best);
  }
  return tally;
}

// The pipeline tries everything on graphs as small as these; this shows what the search would find without that. Hot
// enough, annealing crosses the overflows that lie between the feasible placements.
TEST(BruteForce, AnnealingAlone) {
  std::cout << "annealing alone, start at 2 % of the makespan: " << anneal_cases(20'000) << '\n';
  const Tally hot = anneal_cases(500'000);
  std::cout << "annealing alone, start at 50 %: " << hot << '\n';
  EXPECT_GT(hot.solvable, 50);
  EXPECT_LE(hot.missed, hot.solvable / 10);
  EXPECT_LE(hot.mean_ratio(), 1.05);
}

}  // namespace
}  // namespace pardnn
