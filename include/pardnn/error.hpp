/// Errors that are not ours: a wrong input file, a wrong option, a system that failed.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace pardnn {

/// Wrong input: one line that names the file, the dataset or key, the offender, and what was expected. Exit code 3.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The system failed: disk full, no memory, MPI. Exit code 4.
class SystemError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// `text` with control characters, quotes, backslashes and invalid UTF-8 as \xNN, cut to `limit` characters: safe on a terminal and in one line.
std::string printable(std::string_view text, std::size_t limit = 120);

}  // namespace pardnn
