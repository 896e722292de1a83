/// Many moves at once that would end all overflow if they changed no times.
#pragma once

#include <cstdint>
#include <vector>

#include "judge/judge.hpp"
#include "repair/frozen_run.hpp"
#include "repair/move_candidates.hpp"

namespace pardnn {

struct Move {
  PartId part;
  DeviceId from, to;
};

/// Parts that are not to be moved for now.
class Refused {
 public:
  explicit Refused(PartId parts) : since_(static_cast<std::size_t>(parts), 0) {}
  bool contains(PartId part) const { return since_[part] == round_; }
  void add(PartId part) { since_[part] = round_; }
  void clear() { ++round_; }

 private:
  std::vector<std::int64_t> since_;
  std::int64_t round_ = 1;
};

/// Device of v's part on which its edges cost most, first; then those with most room. At most `count` devices; `from` is none of them.
std::vector<DeviceId> likely_targets(const CostModel& costs, const FrozenRun& frozen, std::span<const NodeId> nodes, DeviceId from,
                                     std::size_t count);

/// Plans against `frozen`, which holds the run that `judge` judged last, and leaves the moves done there. In order: a part may
/// come several times. O(V + E log degree) for each of a bounded number of moments, and the moves.
std::vector<Move> plan_moves(Judge& judge, const MoveParts& parts, FrozenRun& frozen, const Refused& refused);

}  // namespace pardnn
