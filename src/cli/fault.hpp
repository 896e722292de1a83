/// A knob for tests: PARDNN_FAIL=PHASE:RANK makes that rank fail there (D9 of the user reports: one rank fails, the others wait in vain).
#pragma once

#include <string>

namespace pardnn::cli {

/// True if this rank is to fail in this phase.
bool is_to_fail(const std::string& phase, int rank);

/// Throws SystemError then.
void fail_if_asked(const std::string& phase, int rank);

}  // namespace pardnn::cli
