#include "cli/advice.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "pardnn/error.hpp"

namespace pardnn::cli {

namespace {

constexpr std::size_t kNamed = 8;

/// "gpu1, gpu2 and 3 more".
std::string some_of(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamed); ++i) text += (i == 0 ? "" : ", ") + printable(names[i], 40);
  if (names.size() > kNamed) text += fmt::format(" and {} more", names.size() - kNamed);
  return text;
}

NodeId heaviest_node(const Graph& graph) {
  NodeId heaviest = 0;
  for (NodeId v = 1; v < graph.num_nodes(); ++v) {
    const bool heavier = graph.comp(v) > graph.comp(heaviest);
    const bool equal_but_earlier = graph.comp(v) == graph.comp(heaviest) && graph.file_id(v) < graph.file_id(heaviest);
    if (heavier || equal_but_earlier) heaviest = v;
  }
  return heaviest;
}

}  // namespace

std::vector<std::string> graph_advice(const LoadedGraph& loaded, const Machine& machine) {
  const Graph& graph = loaded.graph;
  if (graph.num_nodes() == 0 || machine.num_devices() == 1) return {};
  const NodeId heaviest = heaviest_node(graph);
  const Nanoseconds alone = ceil_mul_div(graph.comp(heaviest), kOne, machine.fastest_speed());
  const Nanoseconds even = ceil_mul_div(graph.total_comp(), kOne, machine.total_speed());
  if (alone <= even) return {};
  const double percent = 100 * static_cast<double>(graph.comp(heaviest)) / static_cast<double>(graph.total_comp());
  return {fmt::format("{} takes {:.1f} % of all compute time, more than an even share of the {} devices: no placement can be faster than {} ns, an even share would be {} ns",
                      loaded.label(heaviest), percent, machine.num_devices(), alone, even)};
}

std::vector<std::string> placement_advice(const Graph& graph, const Evaluation& evaluation) {
  std::vector<std::string> lines, empty, parameter_free;
  for (const DeviceReport& device : evaluation.devices) {
    if (device.nodes == 0) empty.push_back(device.name);
    if (device.nodes > 0 && device.parameter_free) parameter_free.push_back(device.name);
  }
  if (!empty.empty()) lines.push_back(fmt::format("{} of {} devices have no node: {}", empty.size(), evaluation.devices.size(), some_of(empty)));
  bool has_parameters = false;
  for (NodeId v = 0; v < graph.num_nodes() && !has_parameters; ++v) has_parameters = graph.is_residual(v);
  if (has_parameters && !parameter_free.empty()) {
    lines.push_back(fmt::format("devices without parameters, which some training frameworks cannot run: {}", some_of(parameter_free)));
  }
  return lines;
}

}  // namespace pardnn::cli
