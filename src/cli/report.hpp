/// Results as tables for people.
#pragma once

#include <string>
#include <vector>

#include "cli/loaded_graph.hpp"
#include "cli/outcome.hpp"
#include "pardnn/machine.hpp"

namespace pardnn::cli {

/// Graph, machine, makespan and bounds, cut, a row for each device, and whether and why not it fits.
std::string summary_text(const LoadedGraph& loaded, const Machine& machine, const Outcome& outcome);

/// Seconds and percent of each stage.
std::string stage_text(const std::vector<StageTime>& stages, double elapsed_seconds);

/// One row for each method; the best is marked.
std::string comparison_text(const std::vector<Outcome>& outcomes, std::size_t best);

/// 1234567 -> "1,234,567".
std::string grouped(std::int64_t number);

}  // namespace pardnn::cli
