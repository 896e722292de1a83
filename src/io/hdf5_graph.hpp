/// Graph files in HDF5. The schema is spec graph-format.md; in short:
///
///   /                    attributes format = "pardnn-graph", version = 1, name, producer, samples_per_step
///   /edges/indptr        int[V+1]   row pointers          /edges/bytes    int[E]   size of the tensor, 0 = control
///   /edges/indices       int[E]     successors            /edges/output   int[E]   which output of the source
///   /nodes/comp          int[V]     ns                    /nodes/mem      int[V]   bytes of the output
///   /nodes/temp          int[V]     bytes of workspace    /nodes/kind     int[V]   0 normal, 1 residual, 2 reference
///   /nodes/colocation    int[V]     group or -1           /nodes/alias    int[V]   node or -1
///   /nodes/fixed         int[V]     device or -1          /nodes/gradient_of  int[V]  residual or -1
///   /nodes/name_offsets  int[V+1]   /nodes/name_bytes uint8[]   packed UTF-8 names
///   /nodes/op int[V], /op_types string[]
#pragma once

#include <string>
#include <vector>

#include "pardnn/graph.hpp"
#include "pardnn/io.hpp"

namespace pardnn {

/// Reads and checks. Throws InputError with the first finding. Holds the arrays of the result, and names only while it checks them
/// (a few MiB and 24 bytes a node) unless they are wanted.
GraphData read_hdf5_graph(const std::string& file, ReadParts parts);

/// All findings; throws InputError only where the file cannot be opened as HDF5 at all.
std::vector<Finding> validate_hdf5_graph(const std::string& file);

/// Writes atomically. `data` must be a legal graph. Throws SystemError.
void write_hdf5_graph(const std::string& file, const GraphData& data);

}  // namespace pardnn
