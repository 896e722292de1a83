#include "memory/buffer_members.hpp"

namespace pardnn {

BufferMembers::BufferMembers(const Graph& graph) {
  if (!graph.has_aliases()) return;
  const NodeId nodes = graph.num_nodes();
  offsets_.assign(static_cast<std::size_t>(nodes) + 1, 0);
  for (NodeId v = 0; v < nodes; ++v) ++offsets_[graph.root(v) + 1];
  for (NodeId v = 0; v < nodes; ++v) offsets_[v + 1] += offsets_[v];
  members_.resize(static_cast<std::size_t>(nodes));
  std::vector<NodeId> next(offsets_.begin(), offsets_.end());
  for (NodeId v = 0; v < nodes; ++v) members_[next[graph.root(v)]++] = v;
}

}  // namespace pardnn
