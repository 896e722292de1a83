/* Preloaded: an MPI that gives no thread level but the lowest. */
#include <mpi.h>

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  const int code = PMPI_Init_thread(argc, argv, required, provided);
  *provided = MPI_THREAD_SINGLE;
  return code;
}
