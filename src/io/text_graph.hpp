/// Graphs that people write and look at: JSON and Graphviz DOT. For small graphs; both readers hold the whole text.
///
/// JSON:
///   {"format": "pardnn-graph", "version": 1, "name": "...", "producer": "...", "samples_per_step": 1,
///    "nodes": [{"name": "a", "comp": "5us", "mem": "1MiB", "temp": 0, "kind": "normal|residual|reference", "colocation": "group or number",
///               "alias": "node", "fixed": 0, "gradient_of": "node", "op": "matmul"}, ...],
///    "edges": [{"from": "a", "to": "b", "bytes": "1MiB", "output": 0}, ...]}
///   Only "format", "version", "nodes" and a node's "comp" must be there. Quantities are integers in ns and bytes, or text with a unit.
///   Nodes are named by "name", all of them or none; without names, they are named by their place in the list, in "from", "to",
///   "alias" and "gradient_of" too. Unknown keys are errors: they are most likely misspelt.
///
/// DOT: `digraph "name" { a [comp=5000, mem="1MiB"]; a -> b -> c [bytes=10]; }`. The attributes are those of the JSON keys; others are for
///   Graphviz and ignored here, as are ports. `node [...]` and `edge [...]` give defaults, subgraphs scope them.
///   Not taken: undirected graphs, HTML-like names, subgraphs as ends of edges. In a quoted text \" is a quote and \\ a backslash.
///   Graphviz's own library (libcgraph) is not used: its parser has global state, prints, and can end the process.
///
/// Nodes keep the order of the text (DOT: of first mention); edges without "output" in a graph where some have it get output 0.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "pardnn/graph.hpp"

namespace pardnn {

/// What a text says: the graph as far as it could be built, and what is wrong with the text (`dataset` is the place in it).
/// The rules of graph-format.md are checked by check_graph after that.
struct TextGraph {
  GraphData data;
  std::vector<Finding> findings;
};

// Each throws InputError, without the file's name, where the text cannot be parsed at all. O(length).
TextGraph parse_json_graph(const std::string& text);
TextGraph parse_dot_graph(std::string_view text);

// Not atomic: `file` is a temporary, `shown` its final name, for errors. `data` must be a legal graph.
void write_json_graph(const std::string& file, const std::string& shown, const GraphData& data);
void write_dot_graph(const std::string& file, const std::string& shown, const GraphData& data);

/// "normal", "residual", "reference".
const char* kind_name(std::int64_t kind);

/// Collects nodes and edges in the order of a text and makes a GraphData of them.
class TextGraphBuilder {
 public:
  using Value = std::variant<std::int64_t, std::string>;

  /// True for what `set` takes.
  static bool knows_node_key(std::string_view key);
  static bool knows_edge_key(std::string_view key);

  /// The node called `name`, or -1.
  std::int64_t find(std::string_view name) const;
  std::int64_t add_node(std::string_view name);
  /// A node without a name; not to be mixed with named ones.
  std::int64_t add_nameless_node();
  /// Sets the attribute `key`; false if there is no such key. What is wrong with the value becomes a finding at `place`.
  bool set(std::int64_t node, std::string_view key, const Value& value, const std::string& place);
  void add_edge(std::int64_t from, std::int64_t to, std::int64_t bytes, std::int64_t output);
  void complain(std::string place, std::string message);
  /// A graph attribute; false if there is no such key.
  bool set_graph(std::string_view key, const Value& value, const std::string& place);

  /// Whole number, or text with a unit; -1 and a finding if it is neither.
  std::int64_t bytes_of(const Value& value, const std::string& place);
  std::int64_t integer_of(const Value& value, const std::string& place);

  std::int64_t num_nodes() const { return static_cast<std::int64_t>(data_.comp.size()); }
  std::int64_t num_edges() const { return static_cast<std::int64_t>(from_.size()); }
  TextGraph finish();

 private:
  struct Reference {
    std::int64_t node;
    std::vector<std::int64_t> GraphData::*array;
    Value to;
    std::string place;
  };
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  std::int64_t grow();
  std::int64_t time_of(const Value& value, const std::string& place);
  std::int64_t kind_of(const Value& value, const std::string& place);
  void resolve_references();
  void number_groups();
  void sort_edges();
  void drop_defaults();

  GraphData data_;
  std::vector<Finding> findings_;
  std::unordered_map<std::string, std::int64_t, Hash, std::equal_to<>> by_name_, op_index_;
  std::vector<Reference> references_;
  /// Groups given by name: node, name.
  std::vector<std::pair<std::int64_t, std::string>> named_groups_;
  std::vector<std::int64_t> from_, to_, bytes_, output_;
  std::vector<char> has_comp_;
  bool has_output_ = false;
};

}  // namespace pardnn
