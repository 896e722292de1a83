/// The one way in which MPI's return codes are read, and the one way in which anybody waits.
#pragma once

#include <mpi.h>

namespace pardnn {

/// Throws SystemError with MPI's own words unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* call);

/// Waits for `request` asleep: ranks that share CPUs with busy ones must not spin.
void wait_asleep(MPI_Request& request, const char* call);

}  // namespace pardnn
