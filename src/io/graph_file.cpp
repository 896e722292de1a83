// Picks the format of a graph file by its extension.
#include <fmt/format.h>

#include <new>
#include <utility>

#include "graph/graph_checks.hpp"
#include "io/hdf5_graph.hpp"
#include "io/text_file.hpp"
#include "io/text_graph.hpp"
#include "pardnn/error.hpp"
#include "pardnn/io.hpp"

namespace pardnn {

namespace {

enum class Encoding { hdf5, json, dot };

/// Anything but a known text extension is read as HDF5, which has a signature; written, an unknown extension is refused.
Encoding encoding_of(const std::string& file) {
  const std::string extension = extension_of(file);
  return extension == ".json" ? Encoding::json : extension == ".dot" || extension == ".gv" ? Encoding::dot : Encoding::hdf5;
}

[[noreturn]] void refuse(const std::string& file, const std::string& what) { throw InputError(fmt::format("{}: {}", printable(file, 300), what)); }

TextGraph read_text_graph(const std::string& file, Encoding encoding) {
  // What the parsed tree takes beside the text.
  constexpr std::size_t kJsonMemory = 12, kDotMemory = 8;
  const std::string text = encoding == Encoding::json ? read_text_file(file, "a graph in JSON", kJsonMemory) : read_text_file(file, "a graph in DOT", kDotMemory);
  try {
    return encoding == Encoding::json ? parse_json_graph(text) : parse_dot_graph(text);
  } catch (const InputError& error) {
    refuse(file, error.what());
  }
}

std::vector<Finding> all_findings(TextGraph& graph, std::size_t limit) {
  std::vector<Finding> findings = std::move(graph.findings);
  if (limit != 0 && findings.size() >= limit) return findings;
  for (Finding& finding : check_graph(graph.data, limit)) findings.push_back(std::move(finding));
  return findings;
}

[[noreturn]] void refuse_memory(const std::string& file) { throw SystemError(fmt::format("{}: not enough memory to read it", printable(file, 300))); }

}  // namespace

GraphData read_graph_data(const std::string& file, ReadParts parts) try {
  const Encoding encoding = encoding_of(file);
  if (encoding == Encoding::hdf5) return read_hdf5_graph(file, parts);
  TextGraph graph = read_text_graph(file, encoding);
  const std::vector<Finding> findings = all_findings(graph, 1);
  if (!findings.empty()) refuse(file, to_line(findings.front()));
  if (!parts.names) graph.data.names = {};
  if (!parts.operations) {
    graph.data.op = {};
    graph.data.op_types = {};
  }
  return std::move(graph.data);
} catch (const std::bad_alloc&) {
  refuse_memory(file);
}

std::vector<Finding> validate_graph_file(const std::string& file) try {
  const Encoding encoding = encoding_of(file);
  if (encoding == Encoding::hdf5) return validate_hdf5_graph(file);
  TextGraph graph = read_text_graph(file, encoding);
  return all_findings(graph, 0);
} catch (const std::bad_alloc&) {
  refuse_memory(file);
}

void write_graph_data(const std::string& file, const GraphData& data) {
  const std::string extension = extension_of(file);
  const Encoding encoding = encoding_of(file);
  if (encoding == Encoding::hdf5) {
    if (extension != ".h5" && extension != ".hdf5") refuse(file, "graphs are written as .h5, .json or .dot; the extension says which");
    return write_hdf5_graph(file, data);
  }
  write_atomically(file, [&](const std::string& temporary) {
    encoding == Encoding::json ? write_json_graph(temporary, file, data) : write_dot_graph(temporary, file, data);
  });
}

}  // namespace pardnn
