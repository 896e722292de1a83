/// The three encodings of a placement file (placement-format.md). Private: use read_placement_file of pardnn/io.hpp.
///
///   HDF5  attributes format = "pardnn-placement", version = 1, graph_name, graph_fingerprint, devices, makespan_ns, feasible,
///         seed, policy, links, headroom, machine; /device int32[V], /order, /start_ns, /priority int64[V]
///   TSV   one line a node, "name<TAB>device"
///   JSON  {"format": "pardnn-placement", "version": 1, "graph": {"name", "fingerprint"}, "makespan_ns", "feasible", "seed", "policy",
///         "links", "headroom", "devices": [{"index", "name", "memory_bytes", ...}], "placement": {name: device}}
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "io/name_index.hpp"
#include "pardnn/io.hpp"

namespace pardnn {

/// The graph that a placement must fit.
struct PlacedGraph {
  std::int64_t num_nodes;
  const PackedNames& names;
  const std::string& fingerprint;
};

/// Devices given by name, in any order: each node once. Messages name the node; the caller adds file and line.
class NamedDevices {
 public:
  explicit NamedDevices(const PlacedGraph& graph)
      : graph_(&graph), index_(graph.names, graph.num_nodes), device_(static_cast<std::size_t>(graph.num_nodes), kNoDevice) {}

  /// What is wrong, or an empty string.
  std::string assign(std::string_view name, std::int64_t device);
  /// What is wrong, or an empty string: a node without a device.
  std::string missing() const;
  std::vector<DeviceId> take() { return std::move(device_); }

 private:
  const PlacedGraph* graph_;
  NameIndex index_;
  std::vector<DeviceId> device_;
  std::int64_t next_ = 0;
};

/// Throws InputError "FILE: what".
[[noreturn]] void refuse_placement(const std::string& file, const std::string& what);

/// Throws InputError if the file names another graph; a file that names none is taken.
void check_same_graph(const std::string& file, const std::string& file_fingerprint, const std::string& file_graph,
                      const PlacedGraph& graph);

PlacementFile read_hdf5_placement(const std::string& file, const PlacedGraph& graph);
PlacementFile read_tsv_placement(const std::string& file, const PlacedGraph& graph);
PlacementFile read_json_placement(const std::string& file, const PlacedGraph& graph);

// Not atomic: `file` is a temporary, `shown` its final name, for errors.
void write_hdf5_placement(const std::string& file, const std::string& shown, const PlacementFile& placement);
void write_tsv_placement(const std::string& file, const std::string& shown, const PlacementFile& placement, const PackedNames& names);
void write_json_placement(const std::string& file, const std::string& shown, const PlacementFile& placement, const PackedNames& names);

}  // namespace pardnn
