#include "construct/favourite_child.hpp"

#include <algorithm>

namespace pardnn {

std::vector<EdgeId> favourite_children(const CostModel& costs) {
  struct Key {
    Nanoseconds cost;
    std::int64_t source_file_id;
    EdgeId edge;  // edges of one source are sorted by the file id of their target
    NodeId source;
  };
  const Graph& graph = costs.graph();
  std::vector<Key> keys;
  keys.reserve(graph.num_edges());
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    for (EdgeId e = graph.out_begin(v); e < graph.out_end(v); ++e) keys.push_back({costs.mean_cost(e), graph.file_id(v), e, v});
  }
  std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
    if (a.cost != b.cost) return a.cost > b.cost;
    return a.source_file_id != b.source_file_id ? a.source_file_id < b.source_file_id : a.edge < b.edge;
  });
  std::vector<EdgeId> child(graph.num_nodes(), -1);
  std::vector<char> has_parent(graph.num_nodes(), 0);
  for (const Key& key : keys) {
    char& taken = has_parent[graph.target(key.edge)];
    if (child[key.source] >= 0 || taken != 0) continue;
    child[key.source] = key.edge;
    taken = 1;
  }
  return child;
}

}  // namespace pardnn
