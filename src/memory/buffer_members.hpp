/// Which nodes share a buffer.
#pragma once

#include <span>
#include <vector>

#include "pardnn/graph.hpp"

namespace pardnn {

/// The nodes whose outputs share a root's buffer. Keeps no reference to the graph.
class BufferMembers {
 public:
  /// O(V).
  explicit BufferMembers(const Graph& graph);

  /// Increasing; just the root where nothing is a view of it. `root` must outlive the answer. O(1).
  std::span<const NodeId> of(const NodeId& root) const {
    if (offsets_.empty()) return {&root, 1};
    return {members_.data() + offsets_[root], static_cast<std::size_t>(offsets_[root + 1] - offsets_[root])};
  }

 private:
  std::vector<NodeId> offsets_, members_;
};

}  // namespace pardnn
