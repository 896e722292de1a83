#include "cli/progress_display.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include "pardnn/error.hpp"

namespace pardnn::cli {
namespace {

std::chrono::steady_clock::time_point fake_time;
std::chrono::steady_clock::time_point fake_now() { return fake_time; }

/// A display that writes into a temporary file, under a clock that the test moves.
class ProgressDisplayTest : public testing::Test {
 protected:
  void SetUp() override {
    stream_ = std::tmpfile();
    ASSERT_NE(stream_, nullptr);
    fake_time = {};
  }
  void TearDown() override { std::fclose(stream_); }

  std::string written() {
    std::fflush(stream_);
    std::rewind(stream_);
    std::string text;
    std::array<char, 4096> block{};
    for (std::size_t n = 0; (n = std::fread(block.data(), 1, block.size(), stream_)) > 0;) text.append(block.data(), n);
    return text;
  }
  static std::int64_t lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

  /// A stage of `seconds` seconds that reports a hundred times a second.
  static void run_stage(ProgressDisplay& display, int seconds) {
    display.stage_begins("slicing", seconds * 100);
    for (int step = 1; step <= seconds * 100; ++step) {
      fake_time += std::chrono::milliseconds(10);
      display.stage_reaches(step);
    }
    display.stage_ends();
  }

  std::FILE* stream_ = nullptr;
};

TEST_F(ProgressDisplayTest, LogHasAtMostALineInThirtySecondsAndOneAtTheEnd) {
  ProgressDisplay display(ProgressStyle::log, stream_, fake_now);
  run_stage(display, 100);
  const std::string text = written();
  EXPECT_EQ(lines(text), 4) << text;  // after 30, 60 and 90 s, and the end
  EXPECT_EQ(text.find('\r'), std::string::npos);
  EXPECT_NE(text.find("slicing:  30 %, 1:10 min left"), std::string::npos) << text;
  EXPECT_NE(text.find("slicing: done in 100.0 s"), std::string::npos) << text;
}

TEST_F(ProgressDisplayTest, ShortStagesDoNotFillALog) {
  ProgressDisplay display(ProgressStyle::log, stream_, fake_now);
  for (int i = 0; i < 50; ++i) run_stage(display, 1);
  EXPECT_EQ(written(), "");
}

TEST_F(ProgressDisplayTest, BarIsDrawnInPlaceAndRemoved) {
  ProgressDisplay display(ProgressStyle::bar, stream_, fake_now);
  run_stage(display, 10);
  const std::string text = written();
  EXPECT_EQ(lines(text), 0);
  EXPECT_NE(text.find("[####################....................]  50 %, 5 s left"), std::string::npos) << text;
  EXPECT_EQ(text.substr(text.size() - 4), "\r\x1b[K");
  EXPECT_LT(std::count(text.begin(), text.end(), '\r'), 120);  // about ten a second
}

TEST_F(ProgressDisplayTest, NotesDoNotMixWithTheBar) {
  ProgressDisplay display(ProgressStyle::bar, stream_, fake_now);
  display.stage_begins("repair", 0);
  display.note("evil \x1b[2J\nname");
  const std::string text = written();
  EXPECT_NE(text.find("\r\x1b[Kevil \\x1b[2J\\x0aname\n"), std::string::npos) << text;
}

TEST_F(ProgressDisplayTest, NoneIsSilent) {
  ProgressDisplay display(ProgressStyle::none, stream_, fake_now);
  run_stage(display, 100);
  display.note("hello");
  display.print("table\n");
  EXPECT_EQ(written(), "");
}

TEST_F(ProgressDisplayTest, WordsPickTheStyle) {
  EXPECT_EQ(progress_style("auto", stream_), ProgressStyle::log);  // a file is no terminal
  EXPECT_EQ(progress_style("bar", stream_), ProgressStyle::bar);
  EXPECT_EQ(progress_style("none", stream_), ProgressStyle::none);
  EXPECT_THROW(progress_style("loud", stream_), InputError);
}

}  // namespace
}  // namespace pardnn::cli
