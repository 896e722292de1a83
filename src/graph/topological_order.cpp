#include "graph/topological_order.hpp"

#include <algorithm>

namespace pardnn {
namespace {

using Offsets = std::span<const std::int64_t>;

bool ids_ascend_along_edges(Offsets indptr, Offsets indices) {
  const std::int64_t nodes = static_cast<std::int64_t>(indptr.size()) - 1;
  for (std::int64_t v = 0; v < nodes; ++v) {
    for (std::int64_t e = indptr[v]; e < indptr[v + 1]; ++e) {
      if (indices[e] <= v) return false;
    }
  }
  return true;
}

void push_depth(Offsets indptr, Offsets indices, std::int64_t v, std::vector<std::int64_t>& depth) {
  for (std::int64_t e = indptr[v]; e < indptr[v + 1]; ++e) {
    depth[indices[e]] = std::max(depth[indices[e]], depth[v] + 1);
  }
}

/// Depths in Kahn's order, for files whose node order is not topological. False if there is a cycle.
bool depths_by_peeling(Offsets indptr, Offsets indices, std::vector<std::int64_t>& depth) {
  const std::int64_t nodes = static_cast<std::int64_t>(indptr.size()) - 1;
  std::vector<std::int64_t> missing(nodes, 0), peeled;
  for (const std::int64_t target : indices) ++missing[target];
  peeled.reserve(nodes);
  for (std::int64_t v = 0; v < nodes; ++v) {
    if (missing[v] == 0) peeled.push_back(v);
  }
  for (std::size_t i = 0; i < peeled.size(); ++i) {
    const std::int64_t v = peeled[i];
    push_depth(indptr, indices, v, depth);
    for (std::int64_t e = indptr[v]; e < indptr[v + 1]; ++e) {
      if (--missing[indices[e]] == 0) peeled.push_back(indices[e]);
    }
  }
  return static_cast<std::int64_t>(peeled.size()) == nodes;
}

}  // namespace

TopologicalOrder topological_order(Offsets indptr, Offsets indices) {
  const std::int64_t nodes = static_cast<std::int64_t>(indptr.size()) - 1;
  std::vector<std::int64_t> depth(nodes, 0);
  if (ids_ascend_along_edges(indptr, indices)) {
    for (std::int64_t v = 0; v < nodes; ++v) push_depth(indptr, indices, v, depth);
  } else if (!depths_by_peeling(indptr, indices, depth)) {
    return {};
  }
  TopologicalOrder result;
  const std::int64_t depths = nodes == 0 ? 0 : *std::max_element(depth.begin(), depth.end()) + 1;
  result.depth_offsets.assign(depths + 1, 0);
  for (const std::int64_t d : depth) ++result.depth_offsets[d + 1];
  for (std::int64_t d = 0; d < depths; ++d) result.depth_offsets[d + 1] += result.depth_offsets[d];
  std::vector<std::int64_t> next(result.depth_offsets.begin(), result.depth_offsets.end());
  result.order.resize(nodes);
  for (std::int64_t v = 0; v < nodes; ++v) result.order[next[depth[v]]++] = v;
  return result;
}

}  // namespace pardnn
