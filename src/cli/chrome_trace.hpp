/// The emulated run as a Chrome trace (chrome://tracing, Perfetto): one row for each device, one slice for each node.
#pragma once

#include <string>

#include "cli/loaded_graph.hpp"
#include "pardnn/emulate.hpp"
#include "pardnn/machine.hpp"

namespace pardnn::cli {

/// Times in microseconds with three decimals: exact. Written whole or not at all. O(V). Throws SystemError.
void write_chrome_trace(const std::string& file, const LoadedGraph& loaded, const Machine& machine, const Placement& placement, const Schedule& schedule);

}  // namespace pardnn::cli
