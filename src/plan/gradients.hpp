/// The gradients that replicas reduce: nodes with /nodes/gradient_of.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pardnn/graph.hpp"

namespace pardnn {

struct Gradient {
  NodeId node;
  Bytes bytes;
  /// Number of other gradients on the longest chain of them above it: 0 if it depends on none.
  std::int32_t wave;
};

/// The gradients of a graph by increasing node. `gradient_of` is in file order (graph-format.md), empty if the file has none. A gradient has the
/// size of its output; a view that names no size has that of its parameter. O(V + E).
std::vector<Gradient> find_gradients(const Graph& graph, std::span<const std::int64_t> gradient_of);

}  // namespace pardnn
