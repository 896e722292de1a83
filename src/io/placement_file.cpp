#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <new>

#include "io/placement_formats.hpp"
#include "io/text_file.hpp"
#include "pardnn/error.hpp"
#include "pardnn/io.hpp"

namespace pardnn {

void refuse_placement(const std::string& file, const std::string& what) {
  throw InputError(fmt::format("{}: {}", printable(file, 300), what));
}

void check_same_graph(const std::string& file, const std::string& file_fingerprint, const std::string& file_graph,
                      const PlacedGraph& graph) {
  if (file_fingerprint.empty() || graph.fingerprint.empty() || file_fingerprint == graph.fingerprint) return;
  refuse_placement(file, fmt::format("/graph_fingerprint: is a placement of another graph ('{}', fingerprint {}), this one has fingerprint {}",
                                     printable(file_graph), printable(file_fingerprint, 40), graph.fingerprint));
}

std::string NamedDevices::assign(std::string_view name, std::int64_t device) {
  const std::int64_t n = index_.find(name, next_);
  if (n < 0) return fmt::format("the graph has no node '{}'", printable(name));
  next_ = n + 1;
  if (device_[n] != kNoDevice) return fmt::format("node '{}' is placed twice", printable(name));
  if (device < 0 || device > std::numeric_limits<DeviceId>::max()) {
    return fmt::format("node '{}': device {} is out of range", printable(name), device);
  }
  device_[n] = static_cast<DeviceId>(device);
  return {};
}

std::string NamedDevices::missing() const {
  const auto found = std::find(device_.begin(), device_.end(), kNoDevice);
  if (found == device_.end()) return {};
  std::string buffer;
  return fmt::format("node '{}' has no device", printable(name_of(graph_->names, found - device_.begin(), buffer)));
}

namespace {

/// Which encoding an extension stands for.
enum class Encoding { hdf5, tsv, json };

Encoding encoding_of(const std::string& file) {
  const std::string extension = extension_of(file);
  if (extension == ".h5" || extension == ".hdf5") return Encoding::hdf5;
  if (extension == ".tsv") return Encoding::tsv;
  if (extension == ".json") return Encoding::json;
  refuse_placement(file, "placements are written as .h5, .tsv or .json; the extension says which");
}

/// Greatest device against the number of devices that the file says, where it says it.
void check_devices(const std::string& file, PlacementFile& placement, const PackedNames& names) {
  const auto greatest = std::max_element(placement.device.begin(), placement.device.end());
  const std::int64_t least_count = greatest == placement.device.end() ? 0 : std::int64_t{*greatest} + 1;
  if (placement.devices > 0 && least_count > placement.devices) {
    std::string buffer;
    refuse_placement(file, fmt::format("/device: node '{}': device {} is out of range, the file says {} devices",
                                       printable(name_of(names, greatest - placement.device.begin(), buffer)), *greatest, placement.devices));
  }
  if (placement.devices == 0) placement.devices = static_cast<DeviceId>(std::min<std::int64_t>(least_count, std::numeric_limits<DeviceId>::max()));
}

}  // namespace

PlacementFile read_placement_file(const std::string& file, std::int64_t num_nodes, const PackedNames& names,
                                  const std::string& graph_fingerprint) try {
  const PlacedGraph graph{num_nodes, names, graph_fingerprint};
  const Encoding encoding = encoding_of(file);
  PlacementFile placement = encoding == Encoding::hdf5  ? read_hdf5_placement(file, graph)
                            : encoding == Encoding::tsv ? read_tsv_placement(file, graph)
                                                        : read_json_placement(file, graph);
  check_devices(file, placement, names);
  return placement;
} catch (const std::bad_alloc&) {
  throw SystemError(fmt::format("{}: not enough memory to read it", printable(file, 300)));
}

void write_placement_file(const std::string& file, const PlacementFile& placement, const PackedNames& names) {
  const Encoding encoding = encoding_of(file);
  write_atomically(file, [&](const std::string& temporary) {
    switch (encoding) {
      case Encoding::hdf5: return write_hdf5_placement(temporary, file, placement);
      case Encoding::tsv: return write_tsv_placement(temporary, file, placement, names);
      case Encoding::json: return write_json_placement(temporary, file, placement, names);
    }
  });
}

}  // namespace pardnn
