/// A graph read for a command: the graph, and its names where they are needed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/session.hpp"
#include "pardnn/error.hpp"
#include "pardnn/graph.hpp"
#include "ranks/ranks.hpp"

namespace pardnn::cli {

struct LoadedGraph {
  std::string file;
  Graph graph;
  /// In file order; empty if the file has none or they were not asked for.
  PackedNames names;
  /// /nodes/gradient_of in file order; empty if the file has none or they were not asked for.
  std::vector<std::int64_t> gradient_of;

  /// Name of internal node v, safe to print: its name, or "node N" with its index in the file.
  std::string label(NodeId v) const;
};

/// What `work` returns; if it finds fault with the graph ("/nodes/...: ..."), its InputError gets the name of the file.
template <typename Work>
auto with_file_named(const std::string& file, Work&& work) {
  try {
    return work();
  } catch (const InputError& error) {
    const std::string_view what = error.what();
    if (!what.starts_with("/nodes/") && !what.starts_with("/edges/")) throw;
    throw InputError(printable(file) + ": " + error.what());
  }
}

enum class Gradients { left_out, kept };

/// Reads and builds in two timed stages. Names are kept if `needs_names`, or if the file is so small that they cost nothing.
/// Warns of parallel edges that were merged. Throws InputError, SystemError.
LoadedGraph load_graph(const std::string& file, bool needs_names, Session& session, Gradients gradients = Gradients::left_out);

/// Collective: the same on all ranks. Rank 0 reads; the ranks of a host share one copy, which lives until ranks.finish(). Names are rank 0's.
LoadedGraph load_shared_graph(const std::string& file, bool needs_names, Session& session, Ranks& ranks);

}  // namespace pardnn::cli
