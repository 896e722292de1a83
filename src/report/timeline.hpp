/// What a picture of a run needs, no finer than it can show: blocks of nodes, and memory over time.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "report/emulated_run.hpp"

namespace pardnn {

/// Nodes that one device runs one after the other, drawn as one.
struct Block {
  Nanoseconds begins, ends;
  Nanoseconds busy;      ///< of that time
  NodeId longest;        ///< lowest start on ties
  std::int64_t nodes;
};

struct Timeline {
  /// Blocks of each device by time. Nodes without duration are left out.
  std::vector<std::vector<Block>> blocks;
  /// Nodes shorter than this may be drawn with their neighbours; 0: every node has a block of its own.
  Nanoseconds resolution = 0;
};

/// At most about `budget` blocks in all: the least resolution makespan / 2^i that gives no more, or 0. O(V log budget).
Timeline make_timeline(const EmulatedRun& run, std::int64_t budget);

/// Bytes in use on device d from each time on, with at most about `budget` points; the greatest value of every stretch that is drawn as one stays. O(changes).
std::vector<std::pair<Nanoseconds, Bytes>> memory_curve(const EmulatedRun& run, DeviceId d, std::int64_t budget);

}  // namespace pardnn
