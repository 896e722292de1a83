/// Candidates that do not fit, but are short: what repair has to work with.
#pragma once

#include <cstddef>
#include <vector>

#include "search/candidate.hpp"

namespace pardnn {

/// Keeps up to `capacity` candidates of which none has both less overflow and a shorter makespan than another. If there are
/// too many, the one between whose neighbours there is the least difference of makespans goes; the two ends stay.
class OverfullFront {
 public:
  explicit OverfullFront(std::size_t capacity) : capacity_(capacity) {}

  /// Copies what it keeps. O(capacity).
  void offer(const Candidate& candidate);
  /// Forgets all that take at least `makespan`: something that fits does not.
  void drop_slower(Nanoseconds makespan);

  bool empty() const { return candidates_.empty(); }
  /// By rising overflow, so by falling makespan.
  const std::vector<Candidate>& candidates() const { return candidates_; }

 private:
  void thin_out();

  std::size_t capacity_;
  std::vector<Candidate> candidates_;
};

}  // namespace pardnn
