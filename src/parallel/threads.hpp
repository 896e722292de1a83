/// The one place that sets thread counts, for OpenMP and oneTBB together.
#pragma once

#include <memory>
#include <string>

#include "parallel/cpu_limits.hpp"

namespace pardnn {

/// How many threads to run, and why.
struct ThreadPlan {
  int threads = 1;
  int cpus = 1;         ///< CPUs that can really run at once
  std::string line;     ///< one line: what was decided and what was found
  std::string warning;  ///< one line, or empty
};

/// `wanted` threads, or with 0 as many as this process may use: CPUs of mask and quota, shared with the other ranks of the host, fewer if
/// Slurm or OMP_NUM_THREADS asks for fewer. An explicit wish is honoured, with a warning where it exceeds the CPUs.
ThreadPlan plan_threads(int wanted, const CpuLimits& limits);
ThreadPlan plan_threads(int wanted);

/// While it lives, OpenMP regions started by this thread and all oneTBB work use at most `threads` threads.
class ThreadScope {
 public:
  explicit ThreadScope(int threads);
  ~ThreadScope();
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  struct Control;
  std::unique_ptr<Control> control_;
  int openmp_before_;
};

/// Threads that oneTBB work may use now.
int allowed_threads();

/// While it lives, OpenMP regions started by this thread have one thread: for the steps of what already runs on several.
class OneOpenMpThread {
 public:
  OneOpenMpThread();
  ~OneOpenMpThread();
  OneOpenMpThread(const OneOpenMpThread&) = delete;
  OneOpenMpThread& operator=(const OneOpenMpThread&) = delete;

 private:
  int before_;
};

}  // namespace pardnn
