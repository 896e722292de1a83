/// How good a placement is: the order in which every choice between two placements is made.
#pragma once

#include <tuple>

#include "pardnn/units.hpp"

namespace pardnn {

/// Feasible first (overflow 0), then the least makespan, then the least peak; among those that do not fit, the least
/// total overflow first.
struct Score {
  Bytes overflow = 0;  ///< sum over devices of what exceeds usable memory
  Nanoseconds makespan = 0;
  Bytes peak = 0;      ///< greatest peak of a device; 0 where memory is not limited and nobody asked

  bool feasible() const { return overflow == 0; }
  friend bool operator<(const Score& a, const Score& b) {
    return std::tie(a.overflow, a.makespan, a.peak) < std::tie(b.overflow, b.makespan, b.peak);
  }
  friend bool operator==(const Score& a, const Score& b) = default;
};

}  // namespace pardnn
