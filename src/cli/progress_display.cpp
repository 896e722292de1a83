#include "cli/progress_display.hpp"

#include <algorithm>
#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "pardnn/error.hpp"

namespace pardnn::cli {

namespace {

constexpr std::chrono::milliseconds kBarPeriod{100};
/// A log gets a line at most this often, and no line at all for a stage that ends sooner than kWorthALine.
constexpr std::chrono::seconds kLogPeriod{30};
constexpr double kWorthALine = 10;

std::size_t terminal_width(std::FILE* stream) {
  winsize size{};
  const bool known = ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 20;
  return known ? size.ws_col : 80;
}

std::string short_time(double seconds) {
  const auto whole = static_cast<std::int64_t>(seconds + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02} min", whole / 60, whole % 60);
  return fmt::format("{}:{:02} h", whole / 3600, whole % 3600 / 60);
}

}  // namespace

ProgressStyle progress_style(std::string_view word, std::FILE* stream) {
  if (word == "bar") return ProgressStyle::bar;
  if (word == "log") return ProgressStyle::log;
  if (word == "none") return ProgressStyle::none;
  if (word == "auto") return isatty(fileno(stream)) == 1 ? ProgressStyle::bar : ProgressStyle::log;
  throw InputError(fmt::format("--progress '{}': expected auto, bar, log or none", printable(word, 40)));
}

ProgressDisplay::ProgressDisplay(ProgressStyle style, std::FILE* stream, Now now) : style_(style), stream_(stream), now_(now) {}

ProgressDisplay::~ProgressDisplay() { clear_bar(); }

double ProgressDisplay::seconds() const { return std::chrono::duration<double>(now_() - begun_).count(); }

void ProgressDisplay::stage_begins(std::string_view name, std::int64_t steps) {
  stage_ = printable(name, 30);
  steps_ = steps;
  step_ = 0;
  begun_ = now_();
  // A bar shows at once; a log line waits for the first period to pass.
  shown_ = begun_;
  if (style_ == ProgressStyle::bar) draw_bar();
}

void ProgressDisplay::stage_reaches(std::int64_t step) {
  step_ = step;
  if (style_ == ProgressStyle::none) return;
  const auto time = now_();
  if (style_ == ProgressStyle::bar) {
    if (time - shown_ < kBarPeriod) return;
    shown_ = time;
    draw_bar();
  } else if (time - shown_ >= kLogPeriod) {
    shown_ = time;
    print(fmt::format("{}: {}\n", stage_, state()));
  }
}

void ProgressDisplay::stage_ends() {
  clear_bar();
  if (style_ == ProgressStyle::log && seconds() >= kWorthALine) print(fmt::format("{}: done in {:.1f} s\n", stage_, seconds()));
}

void ProgressDisplay::note(std::string_view line) { print(printable(line, 500) + "\n"); }

void ProgressDisplay::print(const std::string& text) {
  if (style_ != ProgressStyle::none) show(text);
}

void ProgressDisplay::show(const std::string& text) {
  clear_bar();
  std::fputs(text.c_str(), stream_);
  std::fflush(stream_);
}

/// "45 %, 12 s left", or the time so far where the number of steps is unknown.
std::string ProgressDisplay::state() const {
  if (steps_ <= 0) return short_time(seconds());
  const double share = std::clamp(static_cast<double>(step_) / static_cast<double>(steps_), 0.0, 1.0);
  if (share <= 0) return fmt::format("{:3.0f} %", 0.0);
  return fmt::format("{:3.0f} %, {} left", share * 100, short_time(seconds() * (1 - share) / share));
}

void ProgressDisplay::draw_bar() {
  const std::string left = fmt::format("{:<14} ", stage_), right = fmt::format(" {}", state());
  const std::size_t width = terminal_width(stream_);
  std::string bar;
  if (steps_ > 0 && left.size() + right.size() + 12 < width) {
    const std::size_t cells = std::min<std::size_t>(40, width - left.size() - right.size() - 3);
    const auto full = static_cast<std::size_t>(std::clamp(static_cast<double>(step_) / static_cast<double>(steps_), 0.0, 1.0) * static_cast<double>(cells));
    bar = fmt::format("[{}{}]", std::string(full, '#'), std::string(cells - full, '.'));
  }
  std::fprintf(stream_, "\r\x1b[K%s", (left + bar + right).substr(0, width - 1).c_str());
  std::fflush(stream_);
  bar_on_screen_ = true;
}

void ProgressDisplay::clear_bar() {
  if (!bar_on_screen_) return;
  std::fputs("\r\x1b[K", stream_);
  std::fflush(stream_);
  bar_on_screen_ = false;
}

}  // namespace pardnn::cli
