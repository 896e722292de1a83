/// What every long command has around its work: threads, progress, stage times, the clock, signals.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/option_flags.hpp"
#include "cli/progress_display.hpp"
#include "cli/run_context.hpp"
#include "parallel/stage_timer.hpp"
#include "parallel/threads.hpp"

namespace pardnn::cli {

class Session {
 public:
  /// Plans the threads and sets them; prints what the environment says against it. Throws InputError.
  explicit Session(const SessionFlags& flags);
  /// Collective: the same for one of many ranks, which share the CPUs of their host. Only rank 0 prints.
  Session(const SessionFlags& flags, const RunContext& context);

  ProgressDisplay& display() { return display_; }
  StageClock& clock() { return clock_; }
  std::vector<StageTime>& stages() { return stages_; }
  int threads() const { return plan_.threads; }
  const std::string& thread_line() const { return plan_.line; }

  /// Prints the result for people, with --progress none too; only --quiet leaves it out.
  void report(const std::string& text);
  /// Prints a warning, once, and keeps it for the result.
  void warn(const std::string& line);
  const std::vector<std::string>& warnings() const { return warnings_; }

  double elapsed_seconds() const;
  /// True once `limit` (0: none) has passed since the start of the session.
  bool is_over(Nanoseconds limit) const;

 private:
  Session(const SessionFlags& flags, ThreadPlan plan, bool prints);

  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  ThreadPlan plan_;
  ThreadScope threads_;
  ProgressDisplay display_;
  bool quiet_;
  std::vector<StageTime> stages_;
  StageClock clock_;
  std::vector<std::string> warnings_;
};

/// Greatest resident set of this process so far, bytes.
std::int64_t peak_resident_bytes();

}  // namespace pardnn::cli
