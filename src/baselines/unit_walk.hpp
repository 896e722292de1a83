/// Units in the order in which a walk over the nodes first meets them, and what a unit weighs.
#pragma once

#include <span>
#include <vector>

#include "construct/constructed.hpp"
#include "costs/cost_model.hpp"

namespace pardnn {

/// Units by their first node in topological order (the internal numbering). O(V).
std::vector<UnitId> units_in_topological_order(const Graph& graph);
/// Units by their first node in file order. O(V).
std::vector<UnitId> units_in_file_order(const Graph& graph);

/// comp of all nodes of each unit, ns. O(V).
std::vector<Nanoseconds> unit_work(const Graph& graph);
/// Bytes that each unit would hold if nothing were ever freed: mem of its roots plus its greatest temp. O(V).
std::vector<Bytes> unit_memory(const Graph& graph);

/// The device of each node from that of its unit; pinned units go where they must. Plans no times. O(V).
Constructed placed_by_units(const Graph& graph, std::span<const DeviceId> unit_device);

}  // namespace pardnn
