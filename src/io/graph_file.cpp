// Picks the format of a graph file by its extension.
#include <fmt/format.h>

#include "io/atomic_file.hpp"
#include "io/hdf5_graph.hpp"
#include "pardnn/error.hpp"
#include "pardnn/io.hpp"

namespace pardnn {

GraphData read_graph_data(const std::string& file, ReadParts parts) { return read_hdf5_graph(file, parts); }

std::vector<Finding> validate_graph_file(const std::string& file) { return validate_hdf5_graph(file); }

void write_graph_data(const std::string& file, const GraphData& data) { write_hdf5_graph(file, data); }

}  // namespace pardnn
