#include "mpi/checked.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "pardnn/error.hpp"

namespace pardnn {

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING + 1] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw SystemError(std::string("MPI: ") + call + " failed: " + printable(text, 300));
}

void wait_asleep(MPI_Request& request, const char* call) {
  constexpr std::chrono::microseconds kShortest{20}, kLongest{2000};
  for (auto pause = kShortest;; pause = std::min(2 * pause, kLongest)) {
    int done = 0;
    check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), call);
    if (done != 0) return;
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace pardnn
