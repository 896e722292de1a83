/// Candidates that do not fit, but are short: what repair has to work with.
#pragma once

#include <cstddef>
#include <vector>

#include "search/candidate.hpp"

namespace pardnn {

/// Keeps up to `capacity` candidates. One beats another if it has no more overflow and no longer makespan; kept is what fewer than `most_beaten`
/// others beat: for 1 the Pareto front, for more also what lies just behind it, as repair does not always prefer the best. Candidates that were
/// placed within a budget only beat their like: the overflow that is left to them is easier to repair. If there are
/// too many, the longest of the beaten ones goes, else the one between whose neighbours there is the least difference of makespans; the two ends stay.
class OverfullFront {
 public:
  OverfullFront(std::size_t capacity, int most_beaten) : capacity_(capacity), most_beaten_(most_beaten) {}

  /// Copies what it keeps. O(capacity^2).
  void offer(const Candidate& candidate);
  /// Forgets all that take at least `makespan`: something that fits does not.
  void drop_slower(Nanoseconds makespan);

  bool empty() const { return candidates_.empty(); }
  /// By rising overflow, then makespan.
  const std::vector<Candidate>& candidates() const { return candidates_; }

 private:
  int times_beaten(const Candidate& candidate) const;
  void thin_out();

  std::size_t capacity_;
  int most_beaten_;
  std::vector<Candidate> candidates_;
};

}  // namespace pardnn
