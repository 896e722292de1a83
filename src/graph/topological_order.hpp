/// The iteration order of everything: nodes by (depth, file id).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pardnn {

struct TopologicalOrder {
  /// Nodes in order: order[i] is the file id of internal node i. Empty if the graph has a cycle.
  std::vector<std::int64_t> order;
  /// Internal nodes of depth d are [depth_offsets[d], depth_offsets[d + 1]).
  std::vector<std::int64_t> depth_offsets;
};

/// Depth of a node: the greatest number of edges on a path to it. O(V + E).
TopologicalOrder topological_order(std::span<const std::int64_t> indptr, std::span<const std::int64_t> indices);

}  // namespace pardnn
