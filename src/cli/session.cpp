#include "cli/session.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>
#include <sys/resource.h>

namespace pardnn::cli {

namespace {

ProgressStyle style_of(const SessionFlags& flags, bool prints) {
  const ProgressStyle style = progress_style(flags.progress, stderr);
  return flags.quiet || !prints ? ProgressStyle::none : style;
}

/// How many of the host's ranks may use a CPU that this one may use.
int ranks_in_mask(Ranks& ranks) {
  const auto own = affinity_bits();
  const auto bytes = std::as_bytes(std::span(own));
  int sharing = 0;
  for (const ByteBuffer& other : ranks.gather_on_host(ByteBuffer(bytes.begin(), bytes.end()))) {
    std::array<std::uint64_t, own.size()> bits;
    std::memcpy(bits.data(), other.data(), sizeof bits);
    bool overlaps = false;
    for (std::size_t i = 0; i < bits.size(); ++i) overlaps = overlaps || (bits[i] & own[i]) != 0;
    sharing += overlaps ? 1 : 0;
  }
  return std::max(1, sharing);
}

ThreadPlan plan_for(const SessionFlags& flags, const RunContext& context) {
  CpuLimits limits = find_cpu_limits(system_cpu_sources());
  limits.host_ranks = context.ranks.host_size();
  limits.mask_ranks = ranks_in_mask(context.ranks);
  const int wanted = static_cast<int>(flags.threads);
  ThreadPlan plan = plan_threads(context.one_thread_only ? 1 : wanted, limits);
  if (context.one_thread_only && wanted != 1) plan.warning = "MPI gives no more than the thread level MPI_THREAD_SINGLE: one thread for each rank";
  return plan;
}

}  // namespace

Session::Session(const SessionFlags& flags) : Session(flags, plan_threads(static_cast<int>(flags.threads)), true) {}

Session::Session(const SessionFlags& flags, const RunContext& context) : Session(flags, plan_for(flags, context), context.ranks.is_first()) {}

Session::Session(const SessionFlags& flags, ThreadPlan plan, bool prints)
    : plan_(std::move(plan)),
      threads_(plan_.threads),
      display_(style_of(flags, prints), stderr),
      quiet_(flags.quiet || !prints),
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
