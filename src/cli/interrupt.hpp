/// Signals: SIGTERM, SIGINT and, unless it asks for the result so far, SIGUSR1 end a run early, with the best result so far.
#pragma once

#include <array>
#include <csignal>
#include <string>

namespace pardnn::cli {

/// From now on those signals end the process at once with exit code 128 + n and one line: there is nothing to save yet.
void watch_signals();

/// SIGUSR1 does not end the process: it asks for the best result so far to be written, whenever there is one. See `asked_for_result`.
void let_usr1_ask_for_result();
/// True once for any number of SIGUSR1 since the last call.
bool asked_for_result();

/// This process prints nothing on signals: another one does.
void end_silently_on_signals();

/// From now on they are remembered instead: ask `caught_signal`. A second SIGINT still ends the process at once.
void save_work_on_signals();

/// Number of the first signal caught, 0 if none.
int caught_signal();

/// While it lives, a crash ends the process with one line that names `file`, and exit code 3: HDF5 does not survive some
/// damaged files (1.10 divides by zero where a storage chunk has no length). One at a time.
class ReadGuard {
 public:
  explicit ReadGuard(const std::string& file);
  ~ReadGuard();
  ReadGuard(const ReadGuard&) = delete;
  ReadGuard& operator=(const ReadGuard&) = delete;

 private:
  static constexpr std::array kCrashes{SIGSEGV, SIGBUS, SIGFPE, SIGABRT};
  std::array<struct sigaction, kCrashes.size()> before_{};
};

}  // namespace pardnn::cli
