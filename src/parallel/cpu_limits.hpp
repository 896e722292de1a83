/// How many CPUs this process may use: affinity mask, control groups, Slurm, OpenMP's environment.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>

namespace pardnn {

/// Numbers of CPUs or threads; 0 where a source says nothing.
struct CpuLimits {
  int hardware = 0;            ///< online CPUs of the machine
  int affinity = 0;            ///< CPUs in this process's mask
  int quota = 0;               ///< control group's CPU quota, rounded up to whole CPUs
  int slurm_cpus_per_task = 0; ///< SLURM_CPUS_PER_TASK
  int omp_num_threads = 0;     ///< OMP_NUM_THREADS, first number of the list
  int host_ranks = 1;          ///< ranks of this run on this host, this one included
  int mask_ranks = 1;          ///< of those, how many may use a CPU of this one's mask

  /// CPUs that can really run at once: the least of mask, quota and hardware; at least 1.
  int usable() const;
  /// This rank's share of them, at least 1.
  int share() const;
};

/// Where the limits are looked up; tests give their own.
struct CpuSources {
  /// Folder in which /proc and /sys lie; "" is the real root.
  std::string root;
  /// Value of an environment variable, or null.
  std::function<const char*(const char*)> environment;
  /// Numbers of CPUs online and in the mask.
  std::function<int()> hardware, affinity;
};

/// This process's affinity mask, CPU c at bit c % 64 of word c / 64. The same length in every process, so that ranks can compare.
std::array<std::uint64_t, 128> affinity_bits();

/// This process's own sources.
CpuSources system_cpu_sources();

/// Reads all sources. O(depth of the control group).
CpuLimits find_cpu_limits(const CpuSources& sources);

}  // namespace pardnn
