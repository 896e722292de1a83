/// Contiguous blocks of equal work: pipeline stages by hand.
#pragma once

#include "construct/constructed.hpp"
#include "costs/cost_model.hpp"

namespace pardnn {

/// Cuts the topological order (by depth, then file id) into K blocks whose work is proportional to the devices' speeds; a unit belongs to the block
/// of its first node. Without any work, nodes count 1 each. O(V).
Constructed topological_blocks(const CostModel& costs);

/// The same over the file's own node order, which often is the order in which a program ran.
Constructed file_order_blocks(const CostModel& costs);

}  // namespace pardnn
