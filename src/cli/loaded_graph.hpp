/// A graph read for a command: the graph, and its names where they are needed.
#pragma once

#include <string>

#include "cli/session.hpp"
#include "pardnn/graph.hpp"

namespace pardnn::cli {

struct LoadedGraph {
  std::string file;
  Graph graph;
  /// In file order; empty if the file has none or they were not asked for.
  PackedNames names;

  /// Name of internal node v, safe to print: its name, or "node N" with its index in the file.
  std::string label(NodeId v) const;
};

/// Reads and builds in two timed stages. Names are kept if `needs_names`, or if the file is so small that they cost nothing.
/// Warns of parallel edges that were merged. Throws InputError, SystemError.
LoadedGraph load_graph(const std::string& file, bool needs_names, Session& session);

}  // namespace pardnn::cli
