#include "cli/loaded_graph.hpp"

#include <cstddef>
#include <filesystem>
#include <span>
#include <utility>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <fmt/format.h>

#include "cli/interrupt.hpp"
#include "graph/graph_block.hpp"
#include "pardnn/error.hpp"
#include "pardnn/io.hpp"

namespace pardnn::cli {

namespace {

constexpr std::uintmax_t kNamesAreCheap = std::uintmax_t{64} << 20;

bool is_small(const std::string& file) {
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  return !error && size < kNamesAreCheap;
}

Graph build(GraphData data, const std::string& file) {
  try {
    return Graph(std::move(data));
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", printable(file), error.what()));
  }
}

}  // namespace

std::string LoadedGraph::label(NodeId v) const {
  const std::int64_t id = graph.file_id(v);
  return names.empty() ? fmt::format("node {}", id) : fmt::format("'{}'", printable(names[id]));
}

LoadedGraph load_graph(const std::string& file, bool needs_names, Session& session, Gradients gradients) {
  LoadedGraph loaded;
  loaded.file = file;
  GraphData data;
  {
    const auto stage = session.clock().stage("read");
    const ReadGuard guard(file);
    data = read_graph_data(file, {.names = needs_names || is_small(file), .operations = false});
  }
  const auto stage = session.clock().stage("build");
  const EdgeId edges = data.num_edges();
  const bool has_outputs = !data.output.empty();
  loaded.names = std::exchange(data.names, {});
  if (gradients == Gradients::kept) loaded.gradient_of = std::exchange(data.gradient_of, {});
  loaded.graph = build(std::move(data), file);
  if (const EdgeId merged = edges - loaded.graph.num_edges(); merged > 0) {
    session.warn(fmt::format("{}: {} parallel edges merged into others, {}", printable(file), merged,
                             has_outputs ? "the greatest bytes of each output kept" : "their bytes added"));
  }
  return loaded;
}

LoadedGraph load_shared_graph(const std::string& file, bool needs_names, Session& session, Ranks& ranks) {
  if (ranks.size() == 1) return load_graph(file, needs_names, session);
  LoadedGraph loaded;
  if (ranks.is_first()) loaded = load_graph(file, needs_names, session);
  loaded.file = file;
  const auto stage = session.clock().stage("share");
  const std::size_t bytes = ranks.is_first() ? block_bytes(loaded.graph) : 0;
  loaded.graph = graph_of_block(ranks.share(bytes, [&](std::span<std::byte> block) { write_block(loaded.graph, block); }));
#ifdef __GLIBC__
  malloc_trim(0);  // rank 0's own copy is gone: a host holds the graph once
#endif
  return loaded;
}

}  // namespace pardnn::cli
