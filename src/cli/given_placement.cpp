#include "cli/given_placement.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/output_files.hpp"
#include "cli/placement_files.hpp"
#include "pardnn/error.hpp"

namespace pardnn::cli {

namespace {

/// The machine of the flags; where they name none, the one that the placement was made for, with its headroom.
Machine machine_for(const GivenFlags& flags, const PlacementFile& file) {
  if (flags.machine.names_a_machine()) return machine_of(flags.machine);
  if (file.machine.empty()) return machine_of(flags.machine);  // says what is missing
  if (flags.machine.memory || flags.machine.bandwidth || flags.machine.latency) {
    throw InputError("--memory, --bandwidth and --latency go with --devices");
  }
  Machine machine = parse_machine(file.machine, "in " + flags.placement);
  if (!file.headroom.empty()) machine.headroom = parse_millionths(file.headroom);
  apply_run_flags(flags.machine, machine);
  return machine;
}

Policy policy_for(const GivenFlags& flags, const PlacementFile& file) {
  if (flags.policy) return parse_policy(*flags.policy);
  return file.policy.empty() ? Policy::fifo : parse_policy(file.policy);
}

}  // namespace

std::vector<std::string> GivenFlags::inputs() const {
  std::vector<std::string> files{graph, placement};
  if (machine.machine) files.push_back(*machine.machine);
  return files;
}

void add_given_flags(CLI::App& app, GivenFlags& flags) {
  app.add_option("graph", flags.graph, "graph file")->required()->type_name("GRAPH.h5");
  app.add_option("placement", flags.placement, "placement file: .h5, .tsv or .json")->required()->type_name("PLACEMENT");
  add_policy_flag(app, flags.policy);
  add_machine_flags(app, flags.machine);
}

GivenPlacement read_given_placement(const GivenFlags& flags, bool needs_names, Session& session) {
  GivenPlacement given;
  given.loaded = load_graph(flags.graph, needs_names || placement_needs_names(flags.placement), session);
  const PlacementFile file = read_placement_for(flags.placement, given.loaded);
  given.machine = machine_for(flags, file);
  if (!flags.machine.links && !file.links.empty()) given.machine.links = parse_links(file.links);
  if (file.devices > 0 && file.devices != given.machine.num_devices()) {
    session.warn(fmt::format("the placement was made for {} devices, the machine has {}", file.devices, given.machine.num_devices()));
  }
  given.placement = placement_of(file, flags.placement, given.loaded, given.machine.num_devices());
  given.policy = policy_for(flags, file);
  given.seed = file.seed;
  return given;
}

}  // namespace pardnn::cli
