/// How this process was started: alone, or as one of several by mpirun or srun. Read from the environment, before any MPI call.
#pragma once

#include <functional>
#include <string>

namespace pardnn {

struct Launch {
  int size = 0;        ///< processes that the launcher says it started; 0 where it says nothing
  std::string source;  ///< what says so: "SLURM_NTASKS=4"
  int process = 0;     ///< number of this process among them
  bool has_mpi = false;  ///< a launcher that an MPI library can talk to: mpirun, or srun with PMI or PMIx
};

/// `environment`: value of a variable, or null.
Launch find_launch(const std::function<const char*(const char*)>& environment);

/// Throws InputError unless `ranks`, the number of ranks that found each other, is what `wanted` (--ranks, 0: not given) or else the
/// launcher says. `library`: version of the MPI library; empty for a build without MPI.
void require_all_ranks(const Launch& launch, int ranks, int wanted, const std::string& library);

}  // namespace pardnn
