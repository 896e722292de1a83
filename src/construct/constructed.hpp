/// What a constructor gives: a placement that keeps units together and respects pinned nodes, and the order it planned.
#pragma once

#include <cstdint>
#include <vector>

#include "pardnn/ids.hpp"
#include "pardnn/units.hpp"

namespace pardnn {

struct Constructed {
  /// Device of each node, internal numbering.
  std::vector<DeviceId> device;
  /// -(rank of the planned start): greater runs first; a topological order. Empty if the constructor plans no times.
  std::vector<std::int64_t> priority;
  /// Planned start of each node, ns. Empty if the constructor plans no times.
  std::vector<Nanoseconds> start;
  /// Latest planned finish, ns; 0 if the constructor plans no times.
  Nanoseconds makespan = 0;
};

}  // namespace pardnn
