#include "report/chain_parts.hpp"

#include <gtest/gtest.h>

#include "report/run_case.hpp"

namespace pardnn {
namespace {

// m.a 10 on 0 -> m.b 5 on 0 -> n.c 7 on 1; 10 bytes at 1 byte a ns and 3 ns of latency between.
TEST(SummarizeChain, WorkedByHand) {
  const test::RunCase made = test::run_case(test::GraphBuilder().node("m.a", 10).node("m.b", 5).node("n.c", 7).edge("m.a", "m.b", 1).edge("m.b", "n.c", 10).data(),
                                            homogeneous_machine(2, kUnlimited, 1'000'000'000, 3), {0, 0, 1});
  const ChainSummary chain = summarize_chain(made.run(), 100);
  ASSERT_EQ(chain.parts.size(), 2u);
  EXPECT_EQ(chain.parts[0].module, "m");
  EXPECT_EQ(chain.parts[0].compute, 15);
  EXPECT_EQ(chain.parts[0].nodes, 2);
  EXPECT_EQ(chain.parts[1].module, "n");
  EXPECT_EQ(chain.parts[1].transfer, 13);
  EXPECT_EQ(chain.parts[1].begins, 15);
  EXPECT_EQ(chain.parts[1].ends, 35);
  EXPECT_EQ(chain.device_changes, 1);
  EXPECT_EQ(chain.queued, 0);
}

TEST(SummarizeChain, ComputeAndTransfersAreTheMakespan) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const test::RunCase made = test::random_run_case(seed, 200);
    const EmulatedRun run = made.run();
    for (const std::size_t limit : {std::size_t{1000}, std::size_t{5}}) {
      const ChainSummary chain = summarize_chain(run, limit);
      EXPECT_EQ(chain.compute + chain.transfer, run.schedule().makespan) << seed;
      for (std::size_t i = 1; i < chain.parts.size(); ++i) EXPECT_EQ(chain.parts[i - 1].ends, chain.parts[i].begins);
    }
  }
}

TEST(SummarizeChain, EmptyGraph) {
  const test::RunCase made = test::run_case(GraphData{}, homogeneous_machine(1), {});
  EXPECT_TRUE(summarize_chain(made.run(), 10).parts.empty());
}

}  // namespace
}  // namespace pardnn
