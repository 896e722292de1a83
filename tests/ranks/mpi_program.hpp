/// Runs the built executable under mpirun, in a folder of its own.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "end_to_end/run_program.hpp"

namespace pardnn::test {

/// Processes whose parent is `parent` and whose executable is pardnn, by increasing id.
std::vector<pid_t> ranks_of(pid_t parent);

class MpiTest : public ProgramTest {
 protected:
  using Clock = std::chrono::steady_clock;

  void SetUp() override;

  /// Commands for a shell that become mpirun with `ranks` ranks; `before`: other commands for each rank first, such as "ulimit -c 0".
  std::string mpirun(int ranks, const std::string& before = "") const;
  Finished run_on(int ranks, const std::vector<std::string>& arguments, const std::string& before = "") const { return run(arguments, mpirun(ranks, before)); }
  pid_t start_on(int ranks, const std::vector<std::string>& arguments) const { return start(arguments, mpirun(ranks)); }
  /// Waits until all ranks of `launcher` are there, and gives them.
  std::vector<pid_t> wait_for_ranks(pid_t launcher, int ranks) const;
  /// Waits until `file` exists.
  bool wait_for_file(const std::string& file, double seconds) const;

  /// A graph on which seeds differ under the default preset.
  std::string small_graph() const;
};

double seconds_since(std::chrono::steady_clock::time_point begin);

/// Lines of `text` that contain `part`.
int lines_with(const std::string& text, const std::string& part);

}  // namespace pardnn::test
