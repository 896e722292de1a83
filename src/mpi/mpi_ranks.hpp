/// Ranks over MPI. This folder alone includes mpi.h; a build without MPI has `without_mpi.cpp` in its place.
#pragma once

#include <memory>
#include <string>

#include "ranks/launch.hpp"
#include "ranks/ranks.hpp"

namespace pardnn {

struct StartedRanks {
  std::unique_ptr<Ranks> ranks;
  /// MPI gave a thread level so low that a rank may have one thread only (D18 of the user reports).
  bool one_thread_only = false;
};

/// All ranks of this run. MPI is started only where a launcher is there to connect the processes: a process that was started by hand
/// stays alone and pays nothing. Throws SystemError.
StartedRanks start_ranks(const Launch& launch);

/// "Open MPI v4.1.4", or "" for a build without MPI.
std::string mpi_library();

}  // namespace pardnn
