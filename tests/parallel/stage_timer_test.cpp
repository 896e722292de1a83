#include "parallel/stage_timer.hpp"

#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace pardnn {
namespace {

struct Recorder : Progress {
  std::vector<std::string> events;
  void stage_begins(std::string_view name, std::int64_t steps) override { events.push_back("begin " + std::string(name) + " " + std::to_string(steps)); }
  void stage_reaches(std::int64_t step) override { events.push_back("step " + std::to_string(step)); }
  void stage_ends() override { events.push_back("end"); }
  void note(std::string_view line) override { events.push_back("note " + std::string(line)); }
};

TEST(StageClock, TellsProgressAndKeepsTimes) {
  Recorder recorder;
  std::vector<StageTime> stages;
  StageClock clock(&recorder, stages);
  {
    const auto first = clock.stage("levels");
  }
  {
    auto second = clock.stage("slicing", 4);
    second.reach(3);
  }
  clock.note("hello");
  EXPECT_EQ(recorder.events, (std::vector<std::string>{"begin levels 0", "end", "begin slicing 4", "step 3", "end", "note hello"}));
  ASSERT_EQ(stages.size(), 2u);
  EXPECT_EQ(stages[0].name, "levels");
  EXPECT_GE(stages[1].seconds, 0.0);
}

TEST(StageClock, RepeatedStageAddsToItsRow) {
  std::vector<StageTime> stages;
  StageClock clock(nullptr, stages);
  for (int round = 0; round < 3; ++round) const auto stage = clock.stage("refine");
  EXPECT_EQ(stages.size(), 1u);
}

TEST(StageClock, StageEndsWhenAnExceptionLeavesIt) {
  Recorder recorder;
  std::vector<StageTime> stages;
  StageClock clock(&recorder, stages);
  try {
    const auto stage = clock.stage("repair");
    throw std::runtime_error("stop");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(recorder.events.back(), "end");
  EXPECT_EQ(stages.size(), 1u);
}

}  // namespace
}  // namespace pardnn
