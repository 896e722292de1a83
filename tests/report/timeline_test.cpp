#include "report/timeline.hpp"

#include <gtest/gtest.h>

#include "pardnn/emulate.hpp"
#include "report/run_case.hpp"

namespace pardnn {
namespace {

using test::random_run_case;
using test::RunCase;

TEST(MakeTimeline, OneBlockForEachNodeWhereTheBudgetAllows) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const RunCase made = random_run_case(seed);
    const EmulatedRun run = made.run();
    const Timeline timeline = make_timeline(run, 1000);
    EXPECT_EQ(timeline.resolution, 0);
    std::int64_t with_time = 0, blocks = 0;
    for (NodeId v = 0; v < made.graph.num_nodes(); ++v) with_time += run.finish(v) > run.start(v) ? 1 : 0;
    for (const auto& device : timeline.blocks) blocks += static_cast<std::int64_t>(device.size());
    EXPECT_EQ(blocks, with_time);
  }
}

TEST(MakeTimeline, KeepsBusyTimeAndNodesWhateverTheResolution) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const RunCase made = random_run_case(seed, 400);
    const EmulatedRun run = made.run();
    for (const std::int64_t budget : {1000, 100, 20, 6}) {
      const Timeline timeline = make_timeline(run, budget);
      const Evaluation evaluation = evaluate(made.graph, made.machine, made.placement, made.policy);
      std::int64_t blocks = 0;
      for (std::size_t d = 0; d < 3; ++d) {
        Nanoseconds busy = 0, before = 0;
        for (const Block& block : timeline.blocks[d]) {
          busy += block.busy;
          EXPECT_LE(before, block.begins);
          EXPECT_LE(block.busy, block.ends - block.begins);
          before = block.ends;
          ++blocks;
        }
        EXPECT_EQ(busy, evaluation.devices[d].busy) << "seed " << seed << ", budget " << budget;
      }
      EXPECT_LE(blocks, budget);
    }
  }
}

TEST(MemoryCurve, WholeOrThinnedThePeakStays) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    const RunCase made = random_run_case(seed, 400);
    const EmulatedRun run = made.run();
    for (const std::int64_t budget : {10000, 100, 10}) {
      for (DeviceId d = 0; d < 3; ++d) {
        const auto points = memory_curve(run, d, budget);
        EXPECT_LE(static_cast<std::int64_t>(points.size()), budget + 3);
        EXPECT_EQ(points.front().first, 0);
        Bytes greatest = 0;
        Nanoseconds before = -1;
        for (const auto& point : points) {
          greatest = std::max(greatest, point.second);
          EXPECT_LT(before, point.first);
          before = point.first;
        }
        EXPECT_EQ(greatest, run.peaks().peak[static_cast<std::size_t>(d)]) << "seed " << seed << ", budget " << budget;
      }
    }
  }
}

}  // namespace
}  // namespace pardnn
