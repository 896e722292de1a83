/// Parts of a graph that run side by side on their own inputs: micro-batches, or the replicas of a data-parallel step.
#pragma once

#include <cstdint>
#include <vector>

#include "costs/cost_model.hpp"

namespace pardnn {

struct Replicas {
  /// By node: which replica it belongs to, or -1: parameters, what many replicas feed (accumulated gradients, updates).
  std::vector<std::int32_t> of_node;
  /// The same, but a node in which replicas meet (a step of a sum of gradients) is with the one that it adds.
  std::vector<std::int32_t> meets_at;
  std::int32_t count = 0;
  /// Work of all replicas together, ns.
  Nanoseconds work = 0;
};

/// Inputs that meet before much work is done belong to one replica, and so does what descends from them until it meets as much of
/// another one; behind such a meeting (a sum of losses) a node belongs to the replica that most of its input bytes come from
/// (the gradient of an activation to that of the activation). A graph whose inputs all meet early is a single replica. O(V + E).
Replicas find_replicas(const Graph& graph);

}  // namespace pardnn
