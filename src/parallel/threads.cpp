#include "parallel/threads.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <oneapi/tbb/global_control.h>
#include <omp.h>

namespace pardnn {

namespace {

/// "mask of 4 CPUs, quota of 2 CPUs, OMP_NUM_THREADS=8": the sources that said something.
std::string describe(const CpuLimits& limits) {
  std::string text = fmt::format("{} CPUs online", limits.hardware);
  if (limits.affinity > 0) text += fmt::format(", {} in the affinity mask", limits.affinity);
  if (limits.quota > 0) text += fmt::format(", control group allows {}", limits.quota);
  if (limits.slurm_cpus_per_task > 0) text += fmt::format(", SLURM_CPUS_PER_TASK={}", limits.slurm_cpus_per_task);
  if (limits.omp_num_threads > 0) text += fmt::format(", OMP_NUM_THREADS={}", limits.omp_num_threads);
  if (limits.host_ranks > 1) text += fmt::format(", {} ranks on this host", limits.host_ranks);
  return text;
}

/// Threads that the environment asks for, not more than there are CPUs.
int default_threads(const CpuLimits& limits, int cpus) {
  int threads = cpus;
  if (limits.slurm_cpus_per_task > 0) threads = std::min(threads, limits.slurm_cpus_per_task);
  if (limits.omp_num_threads > 0) threads = std::min(cpus, limits.omp_num_threads);
  return threads;
}

std::string warning(int wanted, const CpuLimits& limits, int cpus) {
  if (wanted > cpus) {
    return fmt::format("{} threads asked for, but only {} CPUs can be used ({}): expect it to be slow", wanted, cpus, describe(limits));
  }
  if (limits.slurm_cpus_per_task > cpus) {
    return fmt::format("SLURM_CPUS_PER_TASK={} but only {} CPUs can be used ({}): start with srun --cpus-per-task={}",
                       limits.slurm_cpus_per_task, cpus, describe(limits), limits.slurm_cpus_per_task);
  }
  if (wanted == 0 && limits.omp_num_threads > cpus) {
    return fmt::format("OMP_NUM_THREADS={} but only {} CPUs can be used ({}): using {}", limits.omp_num_threads, cpus,
                       describe(limits), cpus);
  }
  return {};
}

}  // namespace

ThreadPlan plan_threads(int wanted, const CpuLimits& limits) {
  ThreadPlan plan;
  plan.cpus = limits.usable();
  plan.threads = wanted > 0 ? wanted : default_threads(limits, limits.share());
  plan.line = fmt::format("{} thread{} ({})", plan.threads, plan.threads == 1 ? "" : "s", describe(limits));
  plan.warning = warning(wanted, limits, limits.share());
  return plan;
}

ThreadPlan plan_threads(int wanted) { return plan_threads(wanted, find_cpu_limits(system_cpu_sources())); }

struct ThreadScope::Control {
  explicit Control(int threads) : limit(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(threads)) {}
  tbb::global_control limit;
};

ThreadScope::ThreadScope(int threads)
    : control_(std::make_unique<Control>(std::max(1, threads))), openmp_before_(omp_get_max_threads()) {
  omp_set_num_threads(std::max(1, threads));
}

ThreadScope::~ThreadScope() { omp_set_num_threads(openmp_before_); }

int allowed_threads() {
  return static_cast<int>(tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism));
}

OneOpenMpThread::OneOpenMpThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }

OneOpenMpThread::~OneOpenMpThread() { omp_set_num_threads(before_); }

}  // namespace pardnn
