/// Times the stages of a run and tells a Progress of them. Passed in, never global.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "pardnn/progress.hpp"

namespace pardnn {

/// `StageClock clock(progress, stages); { auto s = clock.stage("slicing", steps); ... s.reach(i); }`
/// A stage that runs again adds to its row. Stages follow one another; they do not nest.
class StageClock {
 public:
  /// One running stage: ends when it goes out of scope.
  class Stage {
   public:
    Stage(StageClock& owner, std::string name) : owner_(owner), name_(std::move(name)) {}
    Stage(const Stage&) = delete;
    Stage& operator=(const Stage&) = delete;
    ~Stage() { owner_.finish(name_, start_); }

    /// `step` of the announced steps are done.
    void reach(std::int64_t step) {
      if (owner_.progress_ != nullptr) owner_.progress_->stage_reaches(step);
    }

   private:
    StageClock& owner_;
    std::string name_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  };

  /// `progress` may be null. Both must outlive the clock; Progress must not throw from stage_ends.
  StageClock(Progress* progress, std::vector<StageTime>& stages) : progress_(progress), stages_(stages) {}

  /// Begins a stage of `steps` steps (0: unknown).
  [[nodiscard]] Stage stage(std::string name, std::int64_t steps = 0) {
    if (progress_ != nullptr) progress_->stage_begins(name, steps);
    return {*this, std::move(name)};
  }

  void note(std::string_view line) {
    if (progress_ != nullptr) progress_->note(line);
  }

 private:
  void finish(const std::string& name, std::chrono::steady_clock::time_point start) {
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const auto row = std::find_if(stages_.begin(), stages_.end(), [&](const StageTime& stage) { return stage.name == name; });
    if (row == stages_.end()) {
      stages_.push_back({name, seconds});
    } else {
      row->seconds += seconds;
    }
    if (progress_ != nullptr) progress_->stage_ends();
  }

  Progress* progress_;
  std::vector<StageTime>& stages_;
};

}  // namespace pardnn
