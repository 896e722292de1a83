/// Starts to be made and judged side by side, and taken into a pool in order.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "search/pool.hpp"
#include "search/starts.hpp"

namespace pardnn {

/// What a start hands in while it is made, on one thread.
class StartSheet {
 public:
  StartSheet(StartJudge& judge, Nanoseconds latest) : judge_(judge), latest_(latest) {}

  void add(Constructed constructed, const std::string& origin) { judge_.judge(std::move(constructed), origin, latest_, judged_); }
  /// A candidate that has its score.
  void keep(Candidate candidate) { judged_.push_back(std::move(candidate)); }
  Judge& judge() { return judge_.runs(); }
  std::vector<Candidate>& judged() { return judged_; }

 private:
  StartJudge& judge_;
  Nanoseconds latest_;
  std::vector<Candidate> judged_;
};

/// The list, in the order in which the pool takes them: the same pool for any number of threads.
class StartList {
 public:
  /// `make` may run beside others and knows nothing of the pool; `then`, if any, follows once its candidates are there.
  void add(std::function<void(StartSheet&)> make, std::function<void()> then = {}) { starts_.push_back({std::move(make), std::move(then), 0}); }
  /// The last one ends a step of those that context.progress is told of.
  void end_step() {
    if (!starts_.empty()) ++starts_.back().steps_ended;
  }

  /// Until all are made, or context.should_stop says so; the first is made always.
  void run(Pool& pool, const StartContext& context) const;

 private:
  struct Start {
    std::function<void(StartSheet&)> make;
    std::function<void()> then;
    int steps_ended;
  };
  std::vector<Start> starts_;
};

}  // namespace pardnn
