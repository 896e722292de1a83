/// Proofs that no placement at all fits.
#pragma once

#include <optional>
#include <string>

#include "pardnn/graph.hpp"
#include "pardnn/machine.hpp"

namespace pardnn {

/// Why nothing fits, in one line, if one of these bounds shows it: all residuals together against all usable memory;
/// the residuals of one unit against the device it must be on; what one running node needs at once (its unit's residuals, its
/// output, its workspace, its inputs); more units that no two share a device than devices. Nothing: unknown. O(V log V + E log degree).
std::optional<std::string> proof_that_nothing_fits(const Graph& graph, const Machine& machine);

}  // namespace pardnn
