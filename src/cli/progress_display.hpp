/// Shows how far a run is: a bar on a terminal, sparse lines in a log, or nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "pardnn/progress.hpp"

namespace pardnn::cli {

enum class ProgressStyle { bar, log, none };

/// "auto", "bar", "log" or "none"; auto is a bar where `stream` is a terminal, else log. Throws InputError.
ProgressStyle progress_style(std::string_view word, std::FILE* stream);

/// Clock that tests replace.
using Now = std::chrono::steady_clock::time_point (*)();

/// Lines of text for people, and the stages of the run. With style none only what `show` is given; errors are not its business.
class ProgressDisplay : public Progress {
 public:
  ProgressDisplay(ProgressStyle style, std::FILE* stream, Now now = std::chrono::steady_clock::now);
  ~ProgressDisplay() override;

  void stage_begins(std::string_view name, std::int64_t steps) override;
  void stage_reaches(std::int64_t step) override;
  void stage_ends() override;
  void note(std::string_view line) override;

  /// Text of any number of lines, as it is.
  void print(const std::string& text);
  /// The same, whatever the style.
  void show(const std::string& text);
  bool is_silent() const { return style_ == ProgressStyle::none; }

 private:
  double seconds() const;
  void draw_bar();
  void clear_bar();
  std::string state() const;

  ProgressStyle style_;
  std::FILE* stream_;
  Now now_;
  std::string stage_;
  std::int64_t steps_ = 0, step_ = 0;
  std::chrono::steady_clock::time_point begun_{}, shown_{};
  bool bar_on_screen_ = false;
};

}  // namespace pardnn::cli
