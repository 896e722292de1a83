/// Idle intervals of one device, for insertion scheduling: where is the first one long enough?
///
/// Closed intervals [from, to], in order, in chunks of flat arrays with the longest interval of each chunk and of each block of
/// chunks. Intervals of length 0 (between two operations without a pause) are kept, since operations without duration fit there.
#pragma once

#include <cstddef>
#include <vector>

#include "pardnn/units.hpp"

namespace pardnn {

class GapList {
 public:
  GapList();

  /// Earliest t >= `ready` such that [t, t + duration] lies in one gap. O(chunk + blocks), see kChunk.
  Nanoseconds earliest(Nanoseconds ready, Nanoseconds duration) const;
  /// Fills [start, start + duration], which must lie in a gap; `duration` 0 changes nothing. Amortised O(chunk + chunks / chunk).
  void occupy(Nanoseconds start, Nanoseconds duration);
  /// From here on the device is idle forever.
  Nanoseconds tail() const { return tail_; }

 private:
  struct Gap {
    Nanoseconds from, to;
    Nanoseconds length() const { return to - from; }
  };
  struct Chunk {
    std::vector<Gap> gaps;
    Nanoseconds longest = 0;
  };
  static constexpr std::size_t kChunk = 128;  ///< gaps in a chunk, and chunks in a block, at most

  /// The chunk that holds the first gap that ends at or after t; it exists, as the last gap never ends.
  std::size_t chunk_of(Nanoseconds t) const;
  void refresh(std::size_t chunk);
  void refresh_blocks();
  void split(std::size_t chunk);

  std::vector<Chunk> chunks_;
  std::vector<Nanoseconds> longest_in_block_;
  Nanoseconds tail_ = 0;
};

}  // namespace pardnn
