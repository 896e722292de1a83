#include "construct/list_order.hpp"

#include <algorithm>

#include "levels/weighted_levels.hpp"

namespace pardnn {

ListOrder list_order(const CostModel& costs, std::span<const Nanoseconds> bottom_levels) {
  struct Key {
    Nanoseconds bottom;
    std::int64_t file_id;
    NodeId node;
  };
  const Graph& graph = costs.graph();
  const NodeId nodes = graph.num_nodes();
  std::vector<Nanoseconds> unplaced;
  if (bottom_levels.empty()) {
    unplaced = weighted_levels(costs).bottom;
    bottom_levels = unplaced;
  }
  std::vector<Key> keys(nodes);
  for (NodeId v = 0; v < nodes; ++v) keys[v] = {bottom_levels[v], graph.file_id(v), v};
  std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
    return a.bottom != b.bottom ? a.bottom > b.bottom : a.file_id < b.file_id;
  });
  ListOrder order{std::vector<std::int64_t>(nodes), std::vector<NodeId>(nodes)};
  for (std::int64_t r = 0; r < nodes; ++r) {
    order.node[r] = keys[r].node;
    order.rank[keys[r].node] = r;
  }
  return order;
}

std::vector<std::int64_t> priority_of_plan(std::span<const Nanoseconds> start, std::span<const Nanoseconds> finish) {
  struct Key {
    Nanoseconds start, finish;
    NodeId node;
    bool operator<(const Key& other) const {
      if (start != other.start) return start < other.start;
      return finish != other.finish ? finish < other.finish : node < other.node;
    }
  };
  std::vector<Key> keys(start.size());
  for (std::size_t v = 0; v < keys.size(); ++v) keys[v] = {start[v], finish[v], static_cast<NodeId>(v)};
  std::sort(keys.begin(), keys.end());
  std::vector<std::int64_t> priority(keys.size());
  for (std::size_t r = 0; r < keys.size(); ++r) priority[keys[r].node] = -static_cast<std::int64_t>(r);
  return priority;
}

}  // namespace pardnn
