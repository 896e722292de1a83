#include "order/depth_first_order.hpp"

#include <algorithm>

#include "levels/weighted_levels.hpp"

namespace pardnn {
namespace {

/// A node with more ancestors (itself included, counted by paths) than this is more than an input of others.
constexpr std::int64_t kMostFed = 64;

/// Paths that end at each node, those of length 0 included, up to kMostFed + 1. O(V + E).
std::vector<std::int64_t> count_ancestors(const Graph& graph) {
  std::vector<std::int64_t> count(static_cast<std::size_t>(graph.num_nodes()), 1);
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    for (EdgeId i = graph.in_begin(v); i < graph.in_end(v); ++i) count[v] += count[graph.source(i)];
    count[v] = std::min(count[v], kMostFed + 1);
  }
  return count;
}

class DepthFirst {
 public:
  DepthFirst(const CostModel& costs, BranchOrder branches)
      : graph_(costs.graph()), branches_(branches), bottom_(weighted_levels(costs).bottom),
        done_(static_cast<std::size_t>(graph_.num_nodes()), 0), awaited_(done_.size(), 0) {
    const std::vector<std::int64_t> ancestors = count_ancestors(graph_);
    feeder_.resize(done_.size());
    for (std::size_t v = 0; v < done_.size(); ++v) feeder_[v] = ancestors[v] <= kMostFed;
    order_.reserve(done_.size());
  }

  std::vector<NodeId> run() {
    std::vector<NodeId> beginnings;
    for (NodeId v = 0; v < graph_.num_nodes(); ++v) {
      for (EdgeId i = graph_.in_begin(v); i < graph_.in_end(v); ++i) awaited_[v] += feeder_[graph_.source(i)] == 0;
      if (feeder_[v] == 0 && awaited_[v] == 0) beginnings.push_back(v);
    }
    push(beginnings, BranchOrder::greatest_bottom_level);
    drain();
    for (NodeId v = 0; v < graph_.num_nodes(); ++v) {
      if (feeder_[v] != 0) settle(v);
    }
    return std::move(order_);
  }

 private:
  /// The first of `nodes` to run goes on top.
  void push(std::vector<NodeId>& nodes, BranchOrder branches) {
    std::sort(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) {
      if (bottom_[a] != bottom_[b]) return (bottom_[a] > bottom_[b]) == (branches == BranchOrder::least_bottom_level);
      return graph_.file_id(a) > graph_.file_id(b);
    });
    ready_.insert(ready_.end(), nodes.begin(), nodes.end());
  }

  void drain() {
    std::vector<NodeId> opened;
    while (!ready_.empty()) {
      const NodeId v = ready_.back();
      ready_.pop_back();
      settle(v);
      opened.clear();
      for (EdgeId e = graph_.out_begin(v); e < graph_.out_end(v); ++e) {
        if (--awaited_[graph_.target(e)] == 0) opened.push_back(graph_.target(e));
      }
      push(opened, branches_);
    }
  }

  /// v goes next, its feeders that have not gone yet before it.
  void settle(NodeId v) {
    way_.assign(1, v);
    while (!way_.empty()) {
      const NodeId u = way_.back();
      const std::size_t depth = way_.size();
      if (done_[u] == 0) {
        for (EdgeId i = graph_.in_end(u); i-- > graph_.in_begin(u);) {
          if (done_[graph_.source(i)] == 0) way_.push_back(graph_.source(i));
        }
      }
      if (way_.size() > depth) continue;
      way_.pop_back();
      if (done_[u] != 0) continue;
      done_[u] = 1;
      order_.push_back(u);
    }
  }

  const Graph& graph_;
  BranchOrder branches_;
  std::vector<Nanoseconds> bottom_;
  std::vector<char> done_, feeder_;
  std::vector<std::int64_t> awaited_;  // predecessors that are no feeders and have not gone yet
  std::vector<NodeId> ready_;          // a stack
  std::vector<NodeId> way_;
  std::vector<NodeId> order_;
};

}  // namespace

std::vector<NodeId> depth_first_order(const CostModel& costs, BranchOrder branches) { return DepthFirst(costs, branches).run(); }

std::vector<NodeId> soften(const CostModel& costs, std::span<const NodeId> order, std::int64_t windows) {
  const Graph& graph = costs.graph();
  const std::vector<Nanoseconds> bottom = weighted_levels(costs).bottom;
  std::vector<NodeId> softened(order.begin(), order.end());
  const std::int64_t count = static_cast<std::int64_t>(order.size()), length = count / windows + 1;
  for (std::int64_t begin = 0; begin < count; begin += length) {
    const auto first = softened.begin() + begin, last = softened.begin() + std::min(begin + length, count);
    std::sort(first, last, [&](NodeId a, NodeId b) {
      return bottom[a] != bottom[b] ? bottom[a] > bottom[b] : graph.file_id(a) < graph.file_id(b);
    });
  }
  return softened;
}

std::vector<std::int64_t> priority_of_order(std::span<const NodeId> order) {
  std::vector<std::int64_t> priority(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) priority[order[i]] = -static_cast<std::int64_t>(i);
  return priority;
}

}  // namespace pardnn
