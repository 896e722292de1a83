/// The chain of nodes that causes the makespan, waiting for a busy device included.
#pragma once

#include <span>
#include <vector>

#include "judge/judge.hpp"

namespace pardnn {

/// Why a node of the chain did not start earlier.
enum class WaitedFor { nothing, input, device };

struct ChainLink {
  NodeId node;
  WaitedFor waited_for;
  NodeId cause;  ///< the predecessor whose output came last, or the node that kept the device busy; -1 at the head
};

/// Walks back from the node that ends last (lowest id on ties). Links by increasing start. `before_on_device` is
/// filled with the node that each node's device ran before it (-1: none). O(V + edges into the chain).
std::vector<ChainLink> critical_chain(const Judge& judge, std::span<const DeviceId> device, std::vector<NodeId>& before_on_device);

}  // namespace pardnn
