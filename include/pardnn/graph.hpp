/// The computational graph: a DAG of operations and tensors, read-only once built.
///
/// `GraphData` is what a file says, in the file's node order. `Graph` is what algorithms use: nodes renumbered by
/// (depth, file id), so that every edge goes from a lower to a higher id, every depth is one range of ids, and all
/// sweeps stream through flat arrays. Ties "to the lower id" always mean the file id: see `Graph::file_id`.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pardnn/ids.hpp"
#include "pardnn/units.hpp"

namespace pardnn {

enum class NodeKind : std::uint8_t { normal = 0, residual = 1, reference = 2 };

/// Packed UTF-8 names: name n is bytes [offsets[n], offsets[n+1]). Empty offsets: nodes are named by their file index.
struct PackedNames {
  std::vector<std::int64_t> offsets;
  std::vector<char> bytes;
  bool empty() const { return offsets.empty(); }
  std::string_view operator[](std::int64_t n) const {
    return {bytes.data() + offsets[n], static_cast<std::size_t>(offsets[n + 1] - offsets[n])};
  }
};

/// A graph as its file gives it (graph-format.md), in file node order. Optional datasets that are absent are empty vectors.
struct GraphData {
  std::string name, producer;
  std::int64_t samples_per_step = 1;
  std::vector<std::int64_t> indptr{0};
  std::vector<std::int64_t> indices;
  std::vector<std::int64_t> bytes;
  std::vector<std::int64_t> output;
  std::vector<std::int64_t> comp, mem, temp, kind, colocation, alias, fixed, gradient_of;
  PackedNames names;
  std::vector<std::int64_t> op;
  std::vector<std::string> op_types;

  std::int64_t num_nodes() const { return static_cast<std::int64_t>(indptr.size()) - 1; }
  std::int64_t num_edges() const { return static_cast<std::int64_t>(indices.size()); }
  /// Name of file node n, safe to print in an error: its own name (escaped), or its index.
  std::string printable_name(std::int64_t n) const;
};

/// One broken rule of graph-format.md.
struct Finding {
  std::string dataset;  ///< e.g. "/edges/indices"
  std::string message;  ///< the offending index or node name, and what was expected
};

/// Every broken rule of `data`, at most `limit` (0 = all, at most a handful per rule); empty if it is a legal graph.
/// O(V + E). Lengths are checked first; later rules are skipped where their premises are broken.
std::vector<Finding> check_graph(const GraphData& data, std::size_t limit = 0);

/// XXH3-128 of the graph in hex (graph-format.md, Fingerprint), over merged edges sorted by (source, target, output).
/// `merge_parallel_edges` must have been applied.
std::string fingerprint(const GraphData& data);

/// Sorts each row by (target, output) and merges parallel edges: bytes added without /edges/output, else the greatest. O(E log degree).
void merge_parallel_edges(GraphData& data);

class Graph {
 public:
  Graph();
  /// Checks `data`, merges parallel edges, renumbers. Throws InputError naming dataset and offender (the caller adds the file).
  /// O(V + E log degree). Frees the arrays of `data` as it goes; keeps name, fingerprint.
  explicit Graph(GraphData data);

  const std::string& name() const { return name_; }
  const std::string& fingerprint() const { return fingerprint_; }
  std::int64_t samples_per_step() const { return samples_per_step_; }

  NodeId num_nodes() const { return num_nodes_; }
  EdgeId num_edges() const { return num_edges_; }

  // Successors of v: edges e in [out_begin(v), out_end(v)), sorted by (file id of the target, output).
  EdgeId out_begin(NodeId v) const { return out_offsets_[v]; }
  EdgeId out_end(NodeId v) const { return out_offsets_[v + 1]; }
  NodeId target(EdgeId e) const { return targets_[e]; }
  Bytes bytes(EdgeId e) const { return bytes_[e]; }
  /// Rank of the edge's output among the outputs of its source.
  std::int32_t output(EdgeId e) const { return outputs_.empty() ? 0 : outputs_[e]; }
  bool has_outputs() const { return !outputs_.empty(); }
  EdgeId out_degree(NodeId v) const { return out_end(v) - out_begin(v); }

  // Predecessors of v: positions i in [in_begin(v), in_end(v)), by increasing edge id.
  EdgeId in_begin(NodeId v) const { return in_offsets_[v]; }
  EdgeId in_end(NodeId v) const { return in_offsets_[v + 1]; }
  NodeId source(EdgeId i) const { return sources_[i]; }
  /// The edge that stands at position i of the predecessor lists.
  EdgeId in_edge(EdgeId i) const { return in_edges_[i]; }
  EdgeId in_degree(NodeId v) const { return in_end(v) - in_begin(v); }

  Nanoseconds comp(NodeId v) const { return comp_[v]; }
  Bytes mem(NodeId v) const { return mem_[v]; }
  Bytes temp(NodeId v) const { return temp_.empty() ? 0 : temp_[v]; }
  NodeKind kind(NodeId v) const { return kind_.empty() ? NodeKind::normal : static_cast<NodeKind>(kind_[v]); }
  bool is_residual(NodeId v) const { return kind(v) == NodeKind::residual; }
  /// End of v's alias chain; v itself if it is no alias.
  NodeId root(NodeId v) const { return root_.empty() ? v : root_[v]; }
  bool has_aliases() const { return !root_.empty(); }

  std::span<const EdgeId> out_offsets() const { return out_offsets_; }
  std::span<const NodeId> targets() const { return targets_; }
  std::span<const Bytes> edge_bytes() const { return bytes_; }
  std::span<const EdgeId> in_offsets() const { return in_offsets_; }
  std::span<const NodeId> sources() const { return sources_; }
  std::span<const EdgeId> in_edges() const { return in_edges_; }
  std::span<const Nanoseconds> comp() const { return comp_; }

  // Depth ranges: nodes of depth d are [depth_begin(d), depth_end(d)); no edge joins two of them.
  std::int64_t num_depths() const { return static_cast<std::int64_t>(depth_offsets_.size()) - 1; }
  NodeId depth_begin(std::int64_t d) const { return depth_offsets_[d]; }
  NodeId depth_end(std::int64_t d) const { return depth_offsets_[d + 1]; }

  // File numbering.
  std::int64_t file_id(NodeId v) const { return file_ids_.empty() ? v : file_ids_[v]; }
  /// True if the internal numbering is the file's own.
  bool is_identity() const { return file_ids_.empty(); }

  // Units: the least sets of nodes that must share a device: colocation groups and alias chains joined (a reference
  // node is tied to its residual by these). Every other node is a unit of its own. Ids by lowest node of the unit.
  UnitId num_units() const { return num_units_; }
  UnitId unit(NodeId v) const { return unit_.empty() ? v : unit_[v]; }
  /// True if every node is its own unit (then unit(v) == v).
  bool units_are_nodes() const { return unit_.empty(); }
  /// Nodes of unit u, increasing.
  std::span<const NodeId> unit_nodes(UnitId u) const {
    if (unit_.empty()) return {&iota_[u], 1};
    return {unit_members_.data() + unit_offsets_[u], static_cast<std::size_t>(unit_offsets_[u + 1] - unit_offsets_[u])};
  }
  /// The device that the user pins v's unit to, or kNoDevice.
  DeviceId fixed(NodeId v) const { return unit_fixed_.empty() ? kNoDevice : unit_fixed_[unit(v)]; }
  DeviceId unit_fixed(UnitId u) const { return unit_fixed_.empty() ? kNoDevice : unit_fixed_[u]; }
  bool has_fixed() const { return !unit_fixed_.empty(); }
  /// Greatest device index that any node is pinned to, -1 if none.
  DeviceId greatest_fixed() const { return greatest_fixed_; }

  // The ties as the file gives them, for judging placements that are not ours.
  struct Pin {
    NodeId node;
    DeviceId device;
  };
  /// Nodes that the file itself pins.
  std::span<const Pin> pins() const { return pins_; }
  /// Colocation group of v as 0 .. num_groups() - 1, or -1.
  std::int32_t group(NodeId v) const { return group_.empty() ? -1 : group_[v]; }
  std::int32_t num_groups() const { return num_groups_; }

  Nanoseconds total_comp() const { return total_comp_; }
  Bytes total_bytes() const { return total_bytes_; }

  /// `values` in file order -> internal order, and back. O(V).
  template <typename T>
  std::vector<T> to_internal(std::span<const T> values) const {
    std::vector<T> out(values.size());
    for (NodeId v = 0; v < num_nodes_; ++v) out[v] = values[file_id(v)];
    return out;
  }
  template <typename T>
  std::vector<T> to_file_order(std::span<const T> values) const {
    std::vector<T> out(values.size());
    for (NodeId v = 0; v < num_nodes_; ++v) out[file_id(v)] = values[v];
    return out;
  }

 private:
  struct Storage;
  friend struct GraphBlock;  // views of memory that others own
  void bind();

  std::string name_, fingerprint_;
  std::int64_t samples_per_step_ = 1;
  NodeId num_nodes_ = 0;
  EdgeId num_edges_ = 0;
  UnitId num_units_ = 0;
  DeviceId greatest_fixed_ = kNoDevice;
  std::int32_t num_groups_ = 0;
  Nanoseconds total_comp_ = 0;
  Bytes total_bytes_ = 0;
  std::span<const EdgeId> out_offsets_, in_offsets_, in_edges_;
  std::span<const NodeId> targets_, sources_, root_, depth_offsets_, unit_members_, iota_;
  std::span<const Bytes> bytes_, mem_, temp_;
  std::span<const std::int64_t> file_ids_, unit_offsets_;
  std::span<const std::int32_t> outputs_;
  std::span<const Nanoseconds> comp_;
  std::span<const std::uint8_t> kind_;
  std::span<const UnitId> unit_;
  std::span<const DeviceId> unit_fixed_;
  std::span<const Pin> pins_;
  std::span<const std::int32_t> group_;
  /// Owner of the arrays, shared by copies of a Graph; idle where they are a view of a block (graph_block.hpp).
  std::shared_ptr<const Storage> storage_;
};

}  // namespace pardnn
