#include "search/critical_chain.hpp"

#include <gtest/gtest.h>

#include "search/search_case.hpp"
#include "support/random_graphs.hpp"

namespace pardnn {
namespace {

RunView view(const test::SearchCase& c) { return {c.costs, c.start.device, c.judge.schedule(), c.judge.ready(), c.judge.delivered()}; }

//  a(3) --10--> b(4)     c(5)
// a and c on device 0, b on device 1; latency 2, 1 byte/ns. a: 0..3, c: 3..8; b: ready 3 + 2 + 10 = 15, 15..19.
TEST(CriticalChain, NamesInputsAndBusyDevices) {
  const Graph graph(test::GraphBuilder().node("a", 3).node("b", 4).node("c", 5).edge("a", "b", 10).data());
  const Machine machine = homogeneous_machine(2, kUnlimited, 1'000'000'000, 2);
  const CostModel costs(graph, machine);
  Judge judge(costs, Policy::fifo);
  std::vector<DeviceId> device{0, 1, 0};
  for (NodeId v = 0; v < 3; ++v) device[v] = graph.file_id(v) == 1 ? 1 : 0;
  EXPECT_EQ(judge.score(device).makespan, 19);
  std::vector<NodeId> before;
  const auto chain = critical_chain({costs, device, judge.schedule(), judge.ready(), judge.delivered()}, before);
  ASSERT_EQ(chain.size(), 2u);
  EXPECT_EQ(graph.file_id(chain[0].node), 0);
  EXPECT_EQ(chain[0].waited_for, WaitedFor::nothing);
  EXPECT_EQ(graph.file_id(chain[1].node), 1);
  EXPECT_EQ(chain[1].waited_for, WaitedFor::input);
  // With b on device 0, too, it is ready at 3 but runs after c, which is ready at 0.
  const std::vector<DeviceId> together(3, 0);
  EXPECT_EQ(judge.score(together).makespan, 12);
  const auto busy = critical_chain({costs, together, judge.schedule(), judge.ready(), judge.delivered()}, before);
  ASSERT_EQ(busy.size(), 3u);
  EXPECT_EQ(busy[2].waited_for, WaitedFor::device);
  EXPECT_EQ(graph.file_id(busy[2].cause), 2);
}

TEST(CriticalChain, EndsAtTheMakespanAndHasNoGapItCannotName) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    test::SearchCase c(seed);
    if (c.graph.num_nodes() == 0) continue;
    std::vector<NodeId> before;
    const auto chain = critical_chain(view(c), before);
    const Schedule& schedule = c.judge.schedule();
    ASSERT_FALSE(chain.empty());
    EXPECT_EQ(schedule.finish[chain.back().node], schedule.makespan);
    EXPECT_EQ(schedule.start[chain.front().node], 0);
    for (std::size_t i = 1; i < chain.size(); ++i) {
      EXPECT_EQ(chain[i].cause, chain[i - 1].node);
      const Nanoseconds begin = schedule.start[chain[i].node], end = schedule.finish[chain[i].cause];
      if (chain[i].waited_for == WaitedFor::device) {
        EXPECT_EQ(begin, end);
      } else {
        EXPECT_EQ(begin, c.judge.ready()[chain[i].node]);
        EXPECT_GE(begin, end);
      }
    }
  }
}

}  // namespace
}  // namespace pardnn
