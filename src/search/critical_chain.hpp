/// The chain of nodes that causes the makespan, waiting for a busy device included.
#pragma once

#include <span>
#include <vector>

#include "costs/cost_model.hpp"
#include "pardnn/emulate.hpp"

namespace pardnn {

/// Why a node of the chain did not start earlier.
enum class WaitedFor { nothing, input, device };

struct ChainLink {
  NodeId node;
  WaitedFor waited_for;
  NodeId cause;  ///< the predecessor whose output came last, or the node that kept the device busy; -1 at the head
};

/// An emulated run as the chain looks at it. `delivered` is empty under free links.
struct RunView {
  const CostModel& costs;
  std::span<const DeviceId> device;
  const Schedule& schedule;
  std::span<const Nanoseconds> ready;
  std::span<const Nanoseconds> delivered;
};

/// Walks back from the node that ends last (lowest id on ties). Links by increasing start. `before_on_device` is
/// filled with the node that each node's device ran before it (-1: none). O(V + edges into the chain).
std::vector<ChainLink> critical_chain(const RunView& run, std::vector<NodeId>& before_on_device);

}  // namespace pardnn
