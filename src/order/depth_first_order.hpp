/// An order that finishes what it has begun: on one device, one micro-batch after the other, each forwards and backwards.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "costs/cost_model.hpp"

namespace pardnn {

/// Which of the nodes that become ready together goes first.
enum class BranchOrder : std::uint8_t {
  least_bottom_level,    ///< side branches before the long way: weight gradients at once, so that what they read is freed
  greatest_bottom_level  ///< the long way before side branches
};

/// All nodes in a topological order in which what became ready last goes first (a stack). A node whose ancestors are few, such as a view of a
/// weight, is no beginning: it goes right before the first node that needs it. Beginnings: greatest bottom level first, so a micro-batch whose
/// gradient waits for nobody else's comes first. O(E + V log V).
std::vector<NodeId> depth_first_order(const CostModel& costs, BranchOrder branches);

/// `order` cut into `windows` parts of equal length, each of them by bottom level, greatest first: what is long is not kept waiting by what was
/// begun before, as long as both are in one part. Need not be topological. O(E + V log V).
std::vector<NodeId> soften(const CostModel& costs, std::span<const NodeId> order, std::int64_t windows);

/// -(position in `order`): the priorities with which one device runs exactly in this order. O(V).
std::vector<std::int64_t> priority_of_order(std::span<const NodeId> order);

}  // namespace pardnn
