/// Judges what constructors make: the candidates of a start, before a pool takes them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "construct/constructed.hpp"
#include "judge/judge.hpp"
#include "search/candidate.hpp"

namespace pardnn {

/// Uses a Judge that others may use in between; one per thread.
class StartJudge {
 public:
  explicit StartJudge(Judge& judge) : judge_(judge) {}

  /// From now on placements are also tried in the order of their run under fifo. Policy::priority only; one more emulation each.
  void try_fifo_orders() { fifo_ = std::make_unique<Judge>(judge_.costs(), Policy::fifo); }
  bool tries_fifo_orders() const { return fifo_ != nullptr; }

  /// The candidates that `constructed` gives, in order, into `judged`; under Policy::priority the constructor's planned order beside the
  /// default priorities. Runs longer than `latest` are given up, and left out.
  void judge(Constructed constructed, const std::string& origin, Nanoseconds latest, std::vector<Candidate>& judged);

  Judge& runs() { return judge_; }

 private:
  void replay_fifo(const std::vector<DeviceId>& device, const std::string& origin, Nanoseconds latest, std::vector<Candidate>& judged);

  Judge& judge_;
  std::unique_ptr<Judge> fifo_;
};

}  // namespace pardnn
