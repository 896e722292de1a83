/// How many CPUs this process may use: affinity mask, control groups, Slurm, OpenMP's environment.
#pragma once

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

  /// CPUs that can really run at once: the least of mask, quota and hardware; at least 1.
  int usable() const;
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

/// This process's own sources.
CpuSources system_cpu_sources();

/// Reads all sources. O(depth of the control group).
CpuLimits find_cpu_limits(const CpuSources& sources);

}  // namespace pardnn
