/// Parts whose move would free memory at the moment of an overflow, the cheapest per byte first (paper, 3.2.3).
#pragma once

#include <oneapi/tbb/concurrent_priority_queue.h>

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "judge/judge.hpp"
#include "repair/move_parts.hpp"

namespace pardnn {

struct MoveCandidate {
  PartId part;
  Bytes potential;   ///< M_pot: bytes that the move frees on its device at the moment of overflow, > 0
  Nanoseconds cost;  ///< move_cost (Eqn 4): compute time of the part and its communication on the device it leaves
  DeviceId device = 0;  ///< where it is
};

/// The two heaps of the min-knapsack (Eqns 3, 4): all candidates by cost / potential, and those that cover the whole
/// overflow by cost. Filled from many threads; what comes out does not depend on who put it in first.
class CandidateHeaps {
 public:
  explicit CandidateHeaps(Bytes overflow) : overflow_(overflow) {}

  /// Safe to call from several threads at once. O(log n).
  void push(const MoveCandidate& candidate);
  /// The next candidate: the top by ratio, or the cheaper top of those that cover the whole overflow. Each part comes
  /// once. O(log n).
  std::optional<MoveCandidate> pop();

 private:
  struct WorseRatio {
    bool operator()(const MoveCandidate& a, const MoveCandidate& b) const;
  };
  struct WorseCost {
    bool operator()(const MoveCandidate& a, const MoveCandidate& b) const;
  };
  using ByRatio = tbb::concurrent_priority_queue<MoveCandidate, WorseRatio>;
  using ByCost = tbb::concurrent_priority_queue<MoveCandidate, WorseCost>;

  /// The top of `heap` that has not come out of the other one; such tops are dropped.
  template <typename Heap>
  std::optional<MoveCandidate> pop_untaken(Heap& heap);

  Bytes overflow_;
  ByRatio by_ratio_;
  ByCost covering_;
  std::unordered_set<PartId> taken_;
};

/// Whose bytes a holding is.
enum class Claim {
  alone,    ///< of the one part that needs it from that moment on; what several need is nobody's
  together  ///< of each part that needs it from that moment on
};

/// Bytes that each part holds at the given moments, units and groups alike. `at`: for each device a time of the run that `judge` judged
/// last, or -1: not asked. A residual counts wherever it lives, a buffer or copy for those that still need it there after
/// that time. `device` may differ from the placement that was judged. By part, then device. O(V + E log degree).
std::vector<MoveCandidate> move_candidates(Judge& judge, const MoveParts& parts, std::span<const DeviceId> device,
                                           std::span<const Nanoseconds> at, Claim claim);

}  // namespace pardnn
