/// What a user should know about a result and would not see at once.
#pragma once

#include <string>
#include <vector>

#include "cli/loaded_graph.hpp"
#include "pardnn/machine.hpp"
#include "pardnn/placement.hpp"

namespace pardnn::cli {

/// A node so heavy that no balance is possible: longer, on the fastest device, than an even share of the work. O(V).
std::vector<std::string> graph_advice(const LoadedGraph& loaded, const Machine& machine);

/// Devices without nodes, and devices without parameters where the graph has some.
std::vector<std::string> placement_advice(const Graph& graph, const Evaluation& evaluation);

}  // namespace pardnn::cli
