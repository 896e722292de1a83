#include "parallel/threads.hpp"

#include <string>

#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <omp.h>

namespace pardnn {
namespace {

std::size_t tbb_limit() { return tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism); }

CpuLimits limits(int affinity, int quota = 0, int slurm = 0, int omp = 0) { return {64, affinity, quota, slurm, omp}; }

// D3, and four ranks on one host: the CPUs are shared by those whose masks overlap.
TEST(ThreadPlan, RanksShareTheCpusOfTheirHost) {
  CpuLimits limits;
  limits.hardware = 16;
  limits.affinity = 16;
  limits.host_ranks = limits.mask_ranks = 4;
  EXPECT_EQ(plan_threads(0, limits).threads, 4);
  limits.affinity = 4;  // each bound to CPUs of its own
  limits.mask_ranks = 1;
  EXPECT_EQ(plan_threads(0, limits).threads, 4);
  limits.mask_ranks = 4;  // all bound to the same four
  EXPECT_EQ(plan_threads(0, limits).threads, 1);
  limits.quota = 2;
  limits.mask_ranks = 1;
  EXPECT_EQ(plan_threads(0, limits).threads, 1);
  EXPECT_NE(plan_threads(2, limits).warning.find("4 ranks on this host"), std::string::npos);
  EXPECT_EQ(plan_threads(2, limits).threads, 2);
}

// D3: eight threads in a rank that may use one CPU.
TEST(ThreadPlan, ThreadsInAMaskOfOneCpu) {
  CpuLimits limits;
  limits.hardware = 8;
  limits.affinity = 1;
  limits.host_ranks = 2;
  limits.omp_num_threads = 8;
  const ThreadPlan plan = plan_threads(0, limits);
  EXPECT_EQ(plan.threads, 1);
  EXPECT_NE(plan.warning.find("1 in the affinity mask"), std::string::npos) << plan.warning;
}

TEST(ThreadPlan, DefaultIsTheIntersectionOfMaskAndQuota) {
  EXPECT_EQ(plan_threads(0, limits(64)).threads, 64);
  EXPECT_EQ(plan_threads(0, limits(4)).threads, 4);
  EXPECT_EQ(plan_threads(0, limits(8, 2)).threads, 2);
  EXPECT_EQ(plan_threads(0, limits(0, 0)).threads, 64);
  EXPECT_EQ(plan_threads(0, CpuLimits{}).threads, 1);
}

TEST(ThreadPlan, EnvironmentLowersTheDefault) {
  EXPECT_EQ(plan_threads(0, limits(16, 0, 6)).threads, 6);
  EXPECT_EQ(plan_threads(0, limits(16, 0, 0, 3)).threads, 3);
  EXPECT_EQ(plan_threads(0, limits(16, 0, 6, 12)).threads, 12);  // OpenMP's own variable is the more explicit wish
  EXPECT_TRUE(plan_threads(0, limits(16, 0, 6, 12)).warning.empty());
}

TEST(ThreadPlan, TooManyThreadsWarn) {
  const ThreadPlan wanted = plan_threads(8, limits(1));
  EXPECT_EQ(wanted.threads, 8);
  EXPECT_NE(wanted.warning.find("8 threads asked for, but only 1 CPUs"), std::string::npos) << wanted.warning;
  EXPECT_NE(wanted.warning.find("1 in the affinity mask"), std::string::npos) << wanted.warning;

  const ThreadPlan slurm = plan_threads(0, limits(1, 0, 8));
  EXPECT_EQ(slurm.threads, 1);
  EXPECT_NE(slurm.warning.find("srun --cpus-per-task=8"), std::string::npos) << slurm.warning;

  const ThreadPlan openmp = plan_threads(0, limits(2, 0, 0, 8));
  EXPECT_EQ(openmp.threads, 2);
  EXPECT_NE(openmp.warning.find("OMP_NUM_THREADS=8"), std::string::npos) << openmp.warning;
}

TEST(ThreadPlan, SaysWhatItFoundInOneLine) {
  const ThreadPlan plan = plan_threads(0, limits(8, 2, 4));
  EXPECT_EQ(plan.line, "2 threads (64 CPUs online, 8 in the affinity mask, control group allows 2, SLURM_CPUS_PER_TASK=4)");
  EXPECT_EQ(plan_threads(1, limits(8)).line, "1 thread (64 CPUs online, 8 in the affinity mask)");
}

TEST(ThreadScope, SetsBothLibrariesAndPutsThemBack) {
  const int openmp_before = omp_get_max_threads();
  const std::size_t tbb_before = tbb_limit();
  {
    const ThreadScope scope(3);
    EXPECT_EQ(omp_get_max_threads(), 3);
    EXPECT_EQ(tbb_limit(), 3u);
    int threads = 0;
#pragma omp parallel reduction(+ : threads)
    threads += 1;
    EXPECT_EQ(threads, 3);
  }
  EXPECT_EQ(omp_get_max_threads(), openmp_before);
  EXPECT_EQ(tbb_limit(), tbb_before);
}

}  // namespace
}  // namespace pardnn
