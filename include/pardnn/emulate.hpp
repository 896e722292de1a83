/// The emulated run and its memory: judges any placement, ours or not (model.md).
#pragma once

#include <vector>

#include "pardnn/graph.hpp"
#include "pardnn/machine.hpp"
#include "pardnn/placement.hpp"

namespace pardnn {

/// Times of one emulated run, internal numbering.
struct Schedule {
  std::vector<Nanoseconds> start;
  std::vector<Nanoseconds> finish;
  /// Nodes in the order in which they started (ties by round, then device): a topological order.
  std::vector<NodeId> start_order;
  Nanoseconds makespan = 0;
};

/// O((V + E) log V). Throws InputError if sizes, devices or sums do not fit.
Schedule emulate(const Graph& graph, const Machine& machine, const Placement& placement, Policy policy);

/// Makespan, bounds, peaks, overflow, cut: everything that is printed about a placement. O((V + E) log V).
Evaluation evaluate(const Graph& graph, const Machine& machine, const Placement& placement, Policy policy,
                    Schedule* schedule = nullptr);

/// `lower_bound` of model.md. O(V + E).
Nanoseconds lower_bound(const Graph& graph, const Machine& machine);

}  // namespace pardnn
