/// Placements between files (file order) and algorithms (internal order).
#pragma once

#include <string>

#include "cli/loaded_graph.hpp"
#include "pardnn/emulate.hpp"
#include "pardnn/io.hpp"
#include "pardnn/machine.hpp"

namespace pardnn::cli {

/// Reads a placement for this graph. Throws InputError that names the first node whose device the machine lacks.
PlacementFile read_placement_for(const std::string& file, const LoadedGraph& loaded);

/// The devices and priorities of `file` in internal order, for a machine of `devices` devices. Throws InputError.
Placement placement_of(const PlacementFile& file, const std::string& name, const LoadedGraph& loaded, DeviceId devices);

/// Everything that a placement file says about a run. Under the policy `priority` it carries the priorities that were used.
PlacementFile placement_file_of(const LoadedGraph& loaded, const Machine& machine, Policy policy, std::uint64_t seed, const Placement& placement,
                                const Schedule& schedule, const Evaluation& evaluation);

}  // namespace pardnn::cli
