/// The JSON results of cli.md. Fields may be added, never changed within a version.
#pragma once

#include <string>
#include <vector>

#include "cli/loaded_graph.hpp"
#include "cli/outcome.hpp"
#include "pardnn/machine.hpp"

namespace pardnn::cli {

/// One placement: "pardnn-result".
std::string result_json(const LoadedGraph& loaded, const Machine& machine, const Outcome& outcome);

/// Many placements of one graph: the same objects under "methods"; `best` is the marked one.
std::string comparison_json(const LoadedGraph& loaded, const Machine& machine, const std::vector<Outcome>& outcomes, std::size_t best,
                            const std::vector<std::string>& warnings, double elapsed_seconds);

}  // namespace pardnn::cli
