#include "parallel/cpu_limits.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <gtest/gtest.h>

namespace pardnn {
namespace {

namespace fs = std::filesystem;

/// A made-up machine below a temporary folder.
class CpuLimitsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "pardnn_cpu_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  CpuLimits find() {
    return find_cpu_limits({root_,
                            [this](const char* name) -> const char* {
                              const auto found = environment_.find(name);
                              return found == environment_.end() ? nullptr : found->second.c_str();
                            },
                            [] { return 64; }, [this] { return mask_; }});
  }

  std::string root_;
  std::map<std::string, std::string> environment_;
  int mask_ = 64;
};

TEST_F(CpuLimitsTest, NothingSaidLeavesTheMask) {
  mask_ = 4;
  EXPECT_EQ(find().quota, 0);
  EXPECT_EQ(find().usable(), 4);
}

TEST_F(CpuLimitsTest, VersionTwoQuotaIsRoundedUp) {
  write("/proc/self/cgroup", "0::/job/step\n");
  write("/sys/fs/cgroup/job/step/cpu.max", "150000 100000\n");
  EXPECT_EQ(find().quota, 2);
  EXPECT_EQ(find().usable(), 2);
}

TEST_F(CpuLimitsTest, LeastQuotaOfAllParentsCounts) {
  write("/proc/self/cgroup", "0::/job/step\n");
  write("/sys/fs/cgroup/cpu.max", "800000 100000\n");
  write("/sys/fs/cgroup/job/cpu.max", "300000 100000\n");
  write("/sys/fs/cgroup/job/step/cpu.max", "max 100000\n");
  EXPECT_EQ(find().quota, 3);
}

TEST_F(CpuLimitsTest, ContainerSeesItsQuotaAtTheMountPoint) {
  write("/proc/self/cgroup", "0::/\n");
  write("/sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_EQ(find().quota, 2);
}

TEST_F(CpuLimitsTest, VersionOneQuota) {
  write("/proc/self/cgroup", "12:memory:/x\n4:cpu,cpuacct:/docker/abc\n");
  write("/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "400000\n");
  write("/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(find().quota, 4);
  write("/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(find().quota, 0);
}

TEST_F(CpuLimitsTest, VersionOneCpusetIsNotACpuQuota) {
  write("/proc/self/cgroup", "3:cpuset:/docker/abc\n");
  write("/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_quota_us", "100000\n");
  write("/sys/fs/cgroup/cpu/docker/abc/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(find().quota, 0);
}

TEST_F(CpuLimitsTest, DamagedFilesSayNothing) {
  write("/proc/self/cgroup", "0::/\nnonsense\n::\n");
  write("/sys/fs/cgroup/cpu.max", "200000 0\n");
  EXPECT_EQ(find().quota, 0);
  write("/sys/fs/cgroup/cpu.max", "");
  EXPECT_EQ(find().quota, 0);
}

TEST_F(CpuLimitsTest, EnvironmentNumbers) {
  environment_ = {{"SLURM_CPUS_PER_TASK", "12"}, {"OMP_NUM_THREADS", "8,2"}};
  EXPECT_EQ(find().slurm_cpus_per_task, 12);
  EXPECT_EQ(find().omp_num_threads, 8);
  environment_ = {{"SLURM_CPUS_PER_TASK", "many"}, {"OMP_NUM_THREADS", "-3"}};
  EXPECT_EQ(find().slurm_cpus_per_task, 0);
  EXPECT_EQ(find().omp_num_threads, 0);
}

TEST_F(CpuLimitsTest, ThisProcessHasAtLeastOneCpu) { EXPECT_GE(find_cpu_limits(system_cpu_sources()).usable(), 1); }

}  // namespace
}  // namespace pardnn
