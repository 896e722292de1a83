/// Files: graphs and placements (graph-format.md, placement-format.md). All writing is atomic.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pardnn/graph.hpp"
#include "pardnn/placement.hpp"

namespace pardnn {

/// Which optional parts of a graph file a caller wants in memory. Names are always checked.
struct ReadParts {
  bool names = false;      ///< names
  bool operations = false; ///< op, op_types
};

/// Reads one graph by its extension: `.h5`/`.hdf5`/none: HDF5; `.json`: JSON graph; `.dot`/`.gv`: Graphviz.
/// Throws InputError: one line, "FILE: /dataset: what is wrong".
GraphData read_graph_data(const std::string& file, ReadParts parts = {});

/// Every error of a graph file (not only the first), each one line without the file's name. Empty: the file is right.
std::vector<Finding> validate_graph_file(const std::string& file);

/// Writes by extension, as read_graph_data reads. Throws InputError (unknown extension) or SystemError.
void write_graph_data(const std::string& file, const GraphData& data);

/// What a placement file carries beside the devices; file node order.
struct PlacementFile {
  std::string graph_name, graph_fingerprint;
  DeviceId devices = 0;
  Nanoseconds makespan = 0;
  bool feasible = false;
  std::uint64_t seed = 0;
  std::string policy, links;       ///< "fifo" | "priority", "free" | "ports"; empty where the file does not say
  std::string headroom;            ///< decimal text, e.g. "0.1"; empty where the file does not say
  std::string machine;             ///< JSON of the machine; empty where the file does not say
  std::vector<DeviceReport> device_reports;  ///< written to JSON
  std::vector<DeviceId> device;    ///< V
  std::vector<std::int64_t> order, start_ns, priority;  ///< V, or empty
};

/// Reads `.h5`, `.tsv` or `.json` for a graph of `num_nodes` nodes, named by `names` (empty: by index). The fingerprint must match where the file has one.
/// Throws InputError that names file and first offender.
PlacementFile read_placement_file(const std::string& file, std::int64_t num_nodes, const PackedNames& names,
                                  const std::string& graph_fingerprint);

/// Writes by extension: `.h5`, `.tsv`, `.json`. Throws InputError (extension) or SystemError.
void write_placement_file(const std::string& file, const PlacementFile& placement, const PackedNames& names);

/// Replaces `file` by what `write` puts into the temporary file it is given: written beside it, synced, renamed.
/// Whatever happens, `file` is the old whole file or the new whole one. Throws SystemError with the cause.
void write_atomically(const std::string& file, const std::function<void(const std::string& temporary)>& write);

}  // namespace pardnn
