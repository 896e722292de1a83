#include "cli/placement_files.hpp"

#include <fmt/format.h>

#include "cli/interrupt.hpp"
#include "cli/option_flags.hpp"
#include "costs/cost_model.hpp"
#include "levels/weighted_levels.hpp"
#include "pardnn/error.hpp"

namespace pardnn::cli {

namespace {

template <typename T>
std::vector<T> file_order(const Graph& graph, const std::vector<T>& values) {
  return graph.to_file_order(std::span<const T>(values));
}

/// Rank of each node's start, in file order.
std::vector<std::int64_t> start_ranks(const Graph& graph, const Schedule& schedule) {
  std::vector<std::int64_t> rank(schedule.start_order.size());
  for (std::size_t i = 0; i < rank.size(); ++i) rank[static_cast<std::size_t>(graph.file_id(schedule.start_order[i]))] = static_cast<std::int64_t>(i);
  return rank;
}

}  // namespace

PlacementFile read_placement_for(const std::string& file, const LoadedGraph& loaded) {
  const ReadGuard guard(file);
  return read_placement_file(file, loaded.graph.num_nodes(), loaded.names, loaded.graph.fingerprint());
}

Placement placement_of(const PlacementFile& file, const std::string& name, const LoadedGraph& loaded, DeviceId devices) {
  const Graph& graph = loaded.graph;
  Placement placement;
  placement.device = graph.to_internal(std::span<const DeviceId>(file.device));
  for (std::size_t n = 0; n < file.device.size(); ++n) {
    if (file.device[n] >= 0 && file.device[n] < devices) continue;
    const auto id = static_cast<std::int64_t>(n);
    throw InputError(fmt::format("{}: node {} is on device {}, but the machine has devices 0 to {}", printable(name),
                                 loaded.names.empty() ? std::to_string(id) : "'" + printable(loaded.names[id]) + "'", file.device[n], devices - 1));
  }
  if (!file.priority.empty()) placement.priority = graph.to_internal(std::span<const std::int64_t>(file.priority));
  return placement;
}

PlacementFile placement_file_of(const LoadedGraph& loaded, const Machine& machine, Policy policy, std::uint64_t seed, const Placement& placement,
                                const Schedule& schedule, const Evaluation& evaluation) {
  const Graph& graph = loaded.graph;
  PlacementFile file;
  file.graph_name = graph.name();
  file.graph_fingerprint = graph.fingerprint();
  file.devices = machine.num_devices();
  file.makespan = evaluation.makespan;
  file.feasible = evaluation.feasible;
  file.seed = seed;
  file.policy = word_for(policy);
  file.links = word_for(machine.links);
  file.headroom = decimal(machine.headroom);
  file.machine = machine_json(machine);
  file.device_reports = evaluation.devices;
  file.device = file_order(graph, placement.device);
  file.order = start_ranks(graph, schedule);
  file.start_ns = file_order(graph, schedule.start);
  if (policy == Policy::priority) {
    const bool given = !placement.priority.empty();
    file.priority = file_order(graph, given ? placement.priority : placed_bottom_levels(CostModel(graph, machine), placement.device));
  }
  return file;
}

}  // namespace pardnn::cli
