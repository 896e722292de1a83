#include "plan/gradients.hpp"

#include <algorithm>

namespace pardnn {

namespace {

/// Greatest number of marked nodes on a path to each node, itself left out. O(V + E).
std::vector<std::int32_t> marked_above(const Graph& graph, const std::vector<char>& marked) {
  std::vector<std::int32_t> above(marked.size(), 0);
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    for (EdgeId i = graph.in_begin(v); i < graph.in_end(v); ++i) {
      const NodeId u = graph.source(i);
      above[v] = std::max(above[v], above[u] + marked[u]);
    }
  }
  return above;
}

}  // namespace

std::vector<Gradient> find_gradients(const Graph& graph, std::span<const std::int64_t> gradient_of) {
  std::vector<Gradient> gradients;
  if (gradient_of.empty()) return gradients;
  const std::size_t nodes = static_cast<std::size_t>(graph.num_nodes());
  std::vector<char> marked(nodes, 0);
  std::vector<Bytes> mem(nodes);  // by file id: the parameter is named by it
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    mem[graph.file_id(v)] = graph.mem(v);
    marked[v] = gradient_of[graph.file_id(v)] >= 0 ? 1 : 0;
  }
  const std::vector<std::int32_t> wave = marked_above(graph, marked);
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    if (marked[v] == 0) continue;
    gradients.push_back({v, graph.mem(v) > 0 ? graph.mem(v) : mem[gradient_of[graph.file_id(v)]], wave[v]});
  }
  return gradients;
}

}  // namespace pardnn
