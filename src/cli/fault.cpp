#include "cli/fault.hpp"

#include <cstdlib>

#include "pardnn/error.hpp"

namespace pardnn::cli {

bool is_to_fail(const std::string& phase, int rank) {
  const char* asked = std::getenv("PARDNN_FAIL");
  return asked != nullptr && asked == phase + ":" + std::to_string(rank);
}

void fail_if_asked(const std::string& phase, int rank) {
  if (is_to_fail(phase, rank)) throw SystemError("failed in phase " + phase + ", as PARDNN_FAIL asks");
}

}  // namespace pardnn::cli
