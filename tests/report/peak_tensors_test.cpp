#include "report/peak_tensors.hpp"

#include <numeric>

#include <gtest/gtest.h>

#include "report/run_case.hpp"

namespace pardnn {
namespace {

TEST(FindPeakTensors, KindsSumUpToThePeak) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const test::RunCase made = test::random_run_case(seed);
    EmulatedRun run = made.run();
    const std::vector<PeakTensors> few = find_peak_tensors(run, 3), all = find_peak_tensors(run, 10'000);
    for (std::size_t d = 0; d < 3; ++d) {
      EXPECT_EQ(std::accumulate(few[d].by_kind.begin(), few[d].by_kind.end(), Bytes{0}), run.peaks().peak[d]) << seed;
      Bytes sum = 0;
      for (const Holding& holding : all[d].largest) sum += holding.bytes;
      EXPECT_EQ(sum, run.peaks().peak[d]) << seed;
      ASSERT_LE(few[d].largest.size(), 3u);
      for (std::size_t i = 0; i < few[d].largest.size(); ++i) {
        EXPECT_EQ(few[d].largest[i].bytes, all[d].largest[i].bytes) << seed;
        EXPECT_EQ(few[d].largest[i].owner, all[d].largest[i].owner) << seed;
      }
    }
  }
}

}  // namespace
}  // namespace pardnn
