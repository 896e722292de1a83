/// Levels computed again and again while nodes leave the graph: the inner loop of graph slicing (paper, Algorithm 1).
#pragma once

#include <span>
#include <vector>

#include "levels/weighted_levels.hpp"

namespace pardnn {

/// Lays edge costs out once in both directions, so that each sweep reads them in order: 16 bytes an edge, 8 a node.
class ShrinkingLevels {
 public:
  /// Levels with `weights` as the nodes' times (empty: their compute times) and mean edge costs. O(V + E).
  explicit ShrinkingLevels(const CostModel& costs, std::vector<Nanoseconds> weights = {});

  /// Levels without the removed nodes (removed[v] != 0) and their edges; their own levels are 0. O(V + E).
  const WeightedLevels& recompute(std::span<const char> removed);
  const WeightedLevels& levels() const { return levels_; }
  /// Mean cost of edge e.
  Nanoseconds out_cost(EdgeId e) const { return out_costs_[e]; }

 private:
  const Graph* graph_;
  std::vector<Nanoseconds> weights_;    // empty: the graph's
  std::vector<Nanoseconds> out_costs_;  // by edge
  std::vector<Nanoseconds> in_costs_;   // by position in the predecessor lists
  std::vector<Nanoseconds> finish_;     // top level + weight; kAbsent for removed nodes
  WeightedLevels levels_;
};

}  // namespace pardnn
