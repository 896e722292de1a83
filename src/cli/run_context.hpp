/// How this process was started, and with whom.
#pragma once

#include "ranks/launch.hpp"
#include "ranks/ranks.hpp"

namespace pardnn::cli {

struct RunContext {
  Ranks& ranks;
  Launch launch;
  /// MPI allows no second thread in a rank.
  bool one_thread_only = false;
};

}  // namespace pardnn::cli
