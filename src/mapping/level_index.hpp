/// Nodes in order of their top level: spans of time become ranges of positions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "levels/weighted_levels.hpp"

namespace pardnn {

/// A range of positions in a LevelIndex: the nodes whose top level lies in a span.
struct LevelRange {
  std::int64_t from = 0, to = 0;
};

class LevelIndex {
 public:
  /// O(V log V).
  LevelIndex(const Graph& graph, const WeightedLevels& levels);

  std::int64_t size() const { return static_cast<std::int64_t>(order_.size()); }
  /// The node at a position: by top level, then by internal id.
  NodeId node(std::int64_t position) const { return order_[position]; }
  std::int64_t position(NodeId v) const { return position_[v]; }
  Nanoseconds top(NodeId v) const { return tops_[position_[v]]; }
  /// How many nodes have a top level below `time`: O(1) for evenly spread levels, O(log V) at worst.
  std::int64_t nodes_before(Nanoseconds time) const;
  /// Nodes with `from <= tl < to`.
  LevelRange range(Nanoseconds from, Nanoseconds to) const;
  /// Length of the critical path: where spans without a child end.
  Nanoseconds length() const { return length_; }

 private:
  std::vector<NodeId> order_;
  std::vector<std::int64_t> position_;
  std::vector<Nanoseconds> tops_;     // by position, ascending
  std::vector<std::int64_t> buckets_; // bucket b starts at the first position with tops_ >> shift_ >= b
  int shift_ = 0;
  Nanoseconds length_ = 0;
};

}  // namespace pardnn
