/// In which order list schedulers look at nodes, and the order that a plan gives to a runtime.
#pragma once

#include <span>
#include <vector>

#include "costs/cost_model.hpp"

namespace pardnn {

/// Nodes ranked by (bottom level, greatest first; file id, lowest first).
struct ListOrder {
  std::vector<std::int64_t> rank;  ///< of each node, 0 first
  std::vector<NodeId> node;        ///< the node of each rank
};

/// By `bottom_levels`, or by those of the unplaced graph (model.md) where they are empty. O(E + V log V).
ListOrder list_order(const CostModel& costs, std::span<const Nanoseconds> bottom_levels);

/// -(rank of each node by (start, finish, id)). A topological order whenever no node starts before its predecessors
/// finish: of a pair with equal starts the predecessor has no duration, so it finishes no later, and its id is lower. O(V log V).
std::vector<std::int64_t> priority_of_plan(std::span<const Nanoseconds> start, std::span<const Nanoseconds> finish);

}  // namespace pardnn
