/// What was built, and how.
#pragma once

#include <string>

namespace pardnn::cli {

/// "0.1.0".
std::string version_number();

/// Version, compiler, libraries, index width: several lines.
std::string version_text();

}  // namespace pardnn::cli
