/// Graph slicing (paper, Algorithm 1; NOTES 2): peel off heaviest paths.
#pragma once

#include <cstdint>

#include "levels/weighted_levels.hpp"
#include "slicing/clustering.hpp"

namespace pardnn {

struct SlicingOptions {
  /// How many primaries: usually one per device.
  ClusterId primaries = 1;
  /// Levels are computed again after each of the first so many paths. -1: as many as primaries (the paper's choice);
  /// INT64_MAX: after every path, which is linear clustering, O(paths (V + E)).
  ClusterId recomputations = -1;
  /// Each node's weight is scaled by a random factor within 1 +- jitter while slicing (0 .. 1), so that seeds give different clusters.
  Millionths jitter = 0;
  std::uint64_t seed = 0;
};

/// Slices the graph of `costs` into heaviest paths: start at the node of the greatest weighted level among those without remaining
/// predecessors, go on to the successor of the greatest weighted level (ties: heaviest way on, then lower file id) until none is left.
///
/// Departures from the paper: a path that reaches a node takes its whole unit, and never takes a unit that is pinned to
/// another device than the path's. Levels stay on nodes, since contraction may close cycles.
/// O(K (V + E) + V log V) with the paper's recomputations; independent of threads.
Clustering slice_graph(const CostModel& costs, const SlicingOptions& options);

}  // namespace pardnn
