#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "io/hdf5_file.hpp"
#include "io/placement_formats.hpp"
#include "pardnn/error.hpp"

namespace pardnn {

namespace {

using h5::InputDataset;
using h5::InputFile;

void check_head(const InputFile& in) {
  const auto format = in.string_attribute("format");
  if (!format) throw h5::ObjectError("/format", "attribute is missing, expected 'pardnn-placement': not a placement file");
  if (*format != "pardnn-placement") throw h5::ObjectError("/format", fmt::format("is '{}', expected 'pardnn-placement'", printable(*format)));
  const auto version = in.integer_attribute("version");
  if (!version) throw h5::ObjectError("/version", "attribute is missing, expected 1");
  if (*version != 1) throw h5::ObjectError("/version", fmt::format("is {}, this program knows version 1", *version));
}

void read_attributes(const InputFile& in, PlacementFile& placement) {
  placement.graph_name = in.string_attribute("graph_name").value_or("");
  placement.graph_fingerprint = in.string_attribute("graph_fingerprint").value_or("");
  const std::int64_t devices = in.integer_attribute("devices").value_or(0);
  if (devices < 0 || devices > std::numeric_limits<DeviceId>::max()) throw h5::ObjectError("/devices", fmt::format("{} is out of range", devices));
  placement.devices = static_cast<DeviceId>(devices);
  placement.makespan = in.integer_attribute("makespan_ns").value_or(0);
  placement.feasible = in.integer_attribute("feasible").value_or(0) != 0;
  placement.seed = in.unsigned_attribute("seed").value_or(0);
  placement.policy = in.string_attribute("policy").value_or("");
  placement.links = in.string_attribute("links").value_or("");
  placement.headroom = in.number_text_attribute("headroom").value_or("");
  placement.machine = in.string_attribute("machine").value_or("");
  const auto one_of = [](const char* path, const std::string& text, std::string_view a, std::string_view b) {
    if (text.empty() || text == a || text == b) return;
    throw h5::ObjectError(path, fmt::format("is '{}', expected '{}' or '{}'", printable(text), a, b));
  };
  one_of("/policy", placement.policy, "fifo", "priority");
  one_of("/links", placement.links, "free", "ports");
}

/// A dataset with one value per node; empty if it is absent and may be.
std::vector<std::int64_t> read_per_node(const InputFile& in, const char* path, bool required, std::int64_t num_nodes) {
  if (!in.has(path)) {
    if (required) throw h5::ObjectError(path, "dataset is missing");
    return {};
  }
  const InputDataset dataset(in, path, InputDataset::Element::integer);
  if (dataset.length() != num_nodes) {
    throw h5::ObjectError(path, fmt::format("has length {}, expected {} (the number of nodes)", dataset.length(), num_nodes));
  }
  return dataset.read_all();
}

std::string node_text(const PlacedGraph& graph, std::size_t n) {
  std::string buffer;
  return fmt::format("node '{}'", printable(name_of(graph.names, static_cast<std::int64_t>(n), buffer)));
}

std::vector<DeviceId> to_devices(const std::vector<std::int64_t>& values, const PlacedGraph& graph) {
  std::vector<DeviceId> devices(values.size());
  for (std::size_t n = 0; n < values.size(); ++n) {
    if (values[n] < 0 || values[n] > std::numeric_limits<DeviceId>::max()) {
      throw h5::ObjectError("/device", fmt::format("{}: device {} is out of range", node_text(graph, n), values[n]));
    }
    devices[n] = static_cast<DeviceId>(values[n]);
  }
  return devices;
}

/// Ranks are 0 .. V-1, each once.
void check_order(const std::vector<std::int64_t>& order, const PlacedGraph& graph) {
  std::vector<bool> taken(order.size());
  for (std::size_t n = 0; n < order.size(); ++n) {
    const auto rank = static_cast<std::size_t>(order[n]);
    if (order[n] < 0 || rank >= order.size()) throw h5::ObjectError("/order", fmt::format("{}: rank {} is out of range", node_text(graph, n), order[n]));
    if (taken[rank]) throw h5::ObjectError("/order", fmt::format("{}: rank {} is taken", node_text(graph, n), rank));
    taken[rank] = true;
  }
}

}  // namespace

PlacementFile read_hdf5_placement(const std::string& file, const PlacedGraph& graph) try {
  const InputFile in(file, "a placement in HDF5");
  check_head(in);
  PlacementFile placement;
  read_attributes(in, placement);
  check_same_graph(file, placement.graph_fingerprint, placement.graph_name, graph);
  placement.device = to_devices(read_per_node(in, "/device", true, graph.num_nodes), graph);
  placement.order = read_per_node(in, "/order", false, graph.num_nodes);
  check_order(placement.order, graph);
  placement.start_ns = read_per_node(in, "/start_ns", false, graph.num_nodes);
  placement.priority = read_per_node(in, "/priority", false, graph.num_nodes);
  return placement;
} catch (const h5::ObjectError& error) {
  refuse_placement(file, error.object() + ": " + error.what());
} catch (const h5::Failure& failure) {
  refuse_placement(file, failure.what());
}

void write_hdf5_placement(const std::string& file, const std::string& shown, const PlacementFile& placement) try {
  h5::OutputFile out(file);
  out.set_attribute("format", "pardnn-placement");
  out.set_attribute("version", std::int64_t{1});
  out.set_attribute("graph_name", placement.graph_name);
  out.set_attribute("graph_fingerprint", placement.graph_fingerprint);
  out.set_attribute("devices", std::int64_t{placement.devices});
  out.set_attribute("makespan_ns", placement.makespan);
  out.set_attribute("feasible", std::int64_t{placement.feasible});
  out.set_attribute("seed", placement.seed);
  const auto set_known = [&](const char* name, const std::string& text) {
    if (!text.empty()) out.set_attribute(name, text);
  };
  set_known("policy", placement.policy);
  set_known("links", placement.links);
  set_known("headroom", placement.headroom);
  set_known("machine", placement.machine);
  const std::vector<std::int64_t> devices(placement.device.begin(), placement.device.end());
  out.write_array("/device", devices, H5T_STD_I32LE);
  if (!placement.order.empty()) out.write_array("/order", placement.order, H5T_STD_I64LE);
  if (!placement.start_ns.empty()) out.write_array("/start_ns", placement.start_ns, H5T_STD_I64LE);
  if (!placement.priority.empty()) out.write_array("/priority", placement.priority, H5T_STD_I64LE);
  out.close();
} catch (const h5::Failure& failure) {
  h5::throw_system_error(shown, failure);
}

}  // namespace pardnn
