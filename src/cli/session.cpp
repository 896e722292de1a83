#include "cli/session.hpp"

#include <algorithm>
#include <sys/resource.h>

namespace pardnn::cli {

namespace {

ProgressStyle style_of(const SessionFlags& flags) {
  const ProgressStyle style = progress_style(flags.progress, stderr);
  return flags.quiet ? ProgressStyle::none : style;
}

}  // namespace

Session::Session(const SessionFlags& flags)
    : plan_(plan_threads(static_cast<int>(flags.threads))),
      threads_(plan_.threads),
      display_(style_of(flags), stderr),
      quiet_(flags.quiet),
      clock_(&display_, stages_) {
  if (!plan_.warning.empty()) warn(plan_.warning);
}

void Session::report(const std::string& text) {
  if (!quiet_) display_.show(text);
}

void Session::warn(const std::string& line) {
  if (std::find(warnings_.begin(), warnings_.end(), line) != warnings_.end()) return;
  warnings_.push_back(line);
  display_.print("warning: " + line + "\n");
}

double Session::elapsed_seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

bool Session::is_over(Nanoseconds limit) const {
  return limit > 0 && std::chrono::steady_clock::now() - start_ >= std::chrono::nanoseconds(limit);
}

std::int64_t peak_resident_bytes() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
#ifdef __APPLE__
  return usage.ru_maxrss;
#else
  return static_cast<std::int64_t>(usage.ru_maxrss) * 1024;
#endif
}

}  // namespace pardnn::cli
