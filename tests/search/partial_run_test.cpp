#include "search/partial_run.hpp"

#include <gtest/gtest.h>

#include "levels/weighted_levels.hpp"
#include "search/search_case.hpp"

namespace pardnn {
namespace {

/// Every node of the graph free and with a duration, so that no approximation about weights applies.
bool is_plain(const Graph& graph) {
  if (!graph.units_are_nodes() || graph.has_fixed()) return false;
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    if (graph.comp(v) == 0) return false;
  }
  return true;
}

TEST(PartialRun, BaseIsTheEmulatedRun) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    test::SearchCase c(seed);
    const std::vector<std::int64_t> priority = placed_bottom_levels(c.costs, c.start.device);
    c.judge.score(c.start.device, priority);
    PartialRun run(c.costs, c.drawn.policy);
    run.rebase(c.start.device, priority);
    EXPECT_EQ(run.schedule().start, c.judge.schedule().start);
    EXPECT_EQ(run.schedule().start_order, c.judge.schedule().start_order);
  }
}

TEST(PartialRun, ProbesOfOneMovedNodeAgreeWithWholeRuns) {
  std::int64_t probed_moves = 0, gains = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    test::SearchCase c(seed);
    const DeviceId devices = c.drawn.machine.num_devices();
    if (!is_plain(c.graph) || devices < 2 || c.graph.num_nodes() < 3) continue;
    const std::vector<std::int64_t> priority = placed_bottom_levels(c.costs, c.start.device);
    PartialRun run(c.costs, c.drawn.policy);
    run.rebase(c.start.device, priority);
    Probes probes(run);
    const std::vector<Nanoseconds> never(static_cast<std::size_t>(c.graph.num_nodes()), kNever);
    test::TestRandom random(seed);
    for (int i = 0; i < 40; ++i) {
      const NodeId moved = random.below(c.graph.num_nodes()), watched = random.below(c.graph.num_nodes());
      std::vector<DeviceId> device = c.start.device;
      device[moved] = static_cast<DeviceId>(random.below(devices));
      // Under ports the first change is that of the senders' ports.
      Nanoseconds from = run.enter_time(moved);
      if (c.drawn.machine.links == Links::ports) {
        for (EdgeId e = c.graph.in_begin(moved); e < c.graph.in_end(moved); ++e) {
          from = std::min(from, run.schedule().finish[c.graph.source(e)]);
        }
      }
      if (run.schedule().start[watched] <= from) continue;
      const std::vector<Watch> watches{{watched, run.schedule().start[watched]}};
      const bool probed = probes.all_earlier(device, priority, from, watches, never);
      c.judge.score(device, priority);
      EXPECT_EQ(probed, c.judge.schedule().start[watched] < run.schedule().start[watched]) << "seed " << seed;
      ++probed_moves;
      gains += probed;
    }
  }
  EXPECT_GT(probed_moves, 200);
  EXPECT_GT(gains, 20);
}

TEST(PartialRun, LatestStartsHaveNoSlackOnTheLastNodeAndNoneIsNegative) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    test::SearchCase c(seed);
    PartialRun run(c.costs, Policy::fifo);
    run.rebase(c.start.device, {});
    std::vector<Nanoseconds> latest;
    run.latest_starts(c.start.device, latest);
    for (NodeId v = 0; v < c.graph.num_nodes(); ++v) {
      EXPECT_GE(latest[v], run.schedule().start[v]);
      if (run.schedule().finish[v] == run.schedule().makespan) {
        EXPECT_EQ(latest[v], run.schedule().start[v]);
      }
    }
  }
}

TEST(PartialRun, StopsAtANodeThatIsTooLate) {
  test::SearchCase c(3);
  PartialRun run(c.costs, Policy::fifo);
  run.rebase(c.start.device, {});
  Probes probes(run);
  std::vector<Nanoseconds> at_once(static_cast<std::size_t>(c.graph.num_nodes()), -1);
  const NodeId last = run.schedule().start_order.back();
  const std::vector<Watch> impossible_to_miss{{last, kNever}};
  EXPECT_FALSE(probes.all_earlier(c.start.device, {}, 0, impossible_to_miss, at_once));
}

}  // namespace
}  // namespace pardnn
