#include "parallel/cpu_limits.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <thread>
#include <vector>

#ifdef __linux__
#include <sched.h>
#endif

namespace pardnn {

namespace {

/// The number at the start of `text`, if it is at least 1; else 0.
int leading_count(const char* text) {
  if (text == nullptr) return 0;
  const std::string_view view(text);
  int value = 0;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  const bool whole = end == view.data() + view.size() || *end == ',';
  return error == std::errc{} && whole && value > 0 ? value : 0;
}

int online_cpus() { return static_cast<int>(std::thread::hardware_concurrency()); }

int mask_cpus() {
#ifdef __linux__
  for (int cpus = 1024; cpus <= 1 << 20; cpus *= 4) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(cpus));
    if (set == nullptr) return 0;
    const std::size_t size = CPU_ALLOC_SIZE(static_cast<std::size_t>(cpus));
    const int count = sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    if (count > 0) return count;
  }
#endif
  return 0;
}

/// Whole CPUs in `quota` per `period`, rounded up; 0 if there is no limit.
int whole_cpus(std::int64_t quota, std::int64_t period) {
  if (quota <= 0 || period <= 0) return 0;
  return static_cast<int>(std::min<std::int64_t>((quota - 1) / period + 1, 1 << 20));
}

/// cpu.max of control groups version 2: "max 100000" or "200000 100000".
int quota_v2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  std::int64_t quota = 0, period = 0;
  return file >> quota >> period ? whole_cpus(quota, period) : 0;
}

/// cpu.cfs_quota_us and cpu.cfs_period_us of version 1; -1 is no limit.
int quota_v1(const std::string& folder) {
  std::ifstream quota_file(folder + "/cpu.cfs_quota_us"), period_file(folder + "/cpu.cfs_period_us");
  std::int64_t quota = 0, period = 0;
  return quota_file >> quota && period_file >> period ? whole_cpus(quota, period) : 0;
}

int least_positive(int a, int b) {
  if (a == 0 || b == 0) return std::max(a, b);
  return std::min(a, b);
}

/// Least quota of `group` and all groups above it, under the mount point `mount`.
int least_quota(const std::string& mount, std::string group, int (*quota)(const std::string&)) {
  int least = 0;
  while (true) {
    least = least_positive(least, quota(mount + (group == "/" ? "" : group)));
    const std::size_t slash = group.rfind('/');
    if (group.empty() || group == "/" || slash == std::string::npos) return least;
    group.resize(slash);
  }
}

bool lists_cpu(std::string_view controllers) {
  while (!controllers.empty()) {
    const std::size_t comma = controllers.find(',');
    if (controllers.substr(0, comma) == "cpu") return true;
    controllers.remove_prefix(comma == std::string_view::npos ? controllers.size() : comma + 1);
  }
  return false;
}

/// The quota that /proc/self/cgroup leads to: lines "id:controllers:path", version 2 has "0::path".
int group_quota(const std::string& root) {
  std::ifstream file(root + "/proc/self/cgroup");
  int least = 0;
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      least = least_positive(least, least_quota(root + "/sys/fs/cgroup", path, quota_v2));
    } else if (lists_cpu(controllers)) {
      least = least_positive(least, least_quota(root + "/sys/fs/cgroup/" + controllers, path, quota_v1));
      least = least_positive(least, least_quota(root + "/sys/fs/cgroup/cpu", path, quota_v1));
    }
  }
  return least;
}

}  // namespace

int CpuLimits::usable() const { return std::max(1, least_positive(least_positive(affinity, quota), hardware)); }

int CpuLimits::share() const {
  const auto part = [](int cpus, int ranks) { return cpus == 0 ? 0 : std::max(1, cpus / std::max(1, ranks)); };
  return std::max(1, least_positive(least_positive(part(affinity, mask_ranks), part(quota, host_ranks)), part(hardware, host_ranks)));
}

std::array<std::uint64_t, 128> affinity_bits() {
  std::array<std::uint64_t, 128> bits{};
#ifdef __linux__
  constexpr int kCpus = 128 * 64;
  cpu_set_t* set = CPU_ALLOC(kCpus);
  if (set == nullptr) return bits;
  const std::size_t size = CPU_ALLOC_SIZE(kCpus);
  if (sched_getaffinity(0, size, set) == 0) {
    for (std::size_t cpu = 0; cpu < kCpus; ++cpu) {
      if (CPU_ISSET_S(cpu, size, set)) bits[cpu / 64] |= std::uint64_t{1} << cpu % 64;
    }
  }
  CPU_FREE(set);
#endif
  return bits;
}

CpuSources system_cpu_sources() {
  return {"", [](const char* name) -> const char* { return std::getenv(name); }, online_cpus, mask_cpus};
}

CpuLimits find_cpu_limits(const CpuSources& sources) {
  CpuLimits limits;
  limits.hardware = sources.hardware();
  limits.affinity = sources.affinity();
  limits.quota = group_quota(sources.root);
  limits.slurm_cpus_per_task = leading_count(sources.environment("SLURM_CPUS_PER_TASK"));
  limits.omp_num_threads = leading_count(sources.environment("OMP_NUM_THREADS"));
  return limits;
}

}  // namespace pardnn
