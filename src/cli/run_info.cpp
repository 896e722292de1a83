#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/loaded_graph.hpp"
#include "cli/option_flags.hpp"
#include "cli/output_files.hpp"
#include "cli/report.hpp"
#include "cli/session.hpp"
#include "costs/cost_model.hpp"
#include "levels/weighted_levels.hpp"
#include "pardnn/emulate.hpp"
#include "pardnn/error.hpp"

namespace pardnn::cli {

namespace {

using Json = nlohmann::ordered_json;

struct Flags {
  std::string graph;
  std::optional<std::string> json;
  MachineFlags machine;
};

struct Facts {
  std::int64_t depths = 0, width = 0, sources = 0, sinks = 0, control_edges = 0, residuals = 0, references = 0, units = 0;
  Nanoseconds work = 0, critical_path = 0;
  Bytes edge_bytes = 0, residual_bytes = 0, output_bytes = 0, greatest_temp = 0, peak_on_one = 0;

  double parallelism() const { return critical_path == 0 ? 0.0 : static_cast<double>(work) / static_cast<double>(critical_path); }
};

/// What a machine adds: mean communication before placement.
struct MachineFacts {
  std::string name;
  DeviceId devices = 0;
  Nanoseconds communication = 0, critical_path = 0, lower_bound = 0;
  double ccr = 0;
};

Nanoseconds greatest_bottom_level(const CostModel& costs) {
  const WeightedLevels levels = weighted_levels(costs);
  return levels.bottom.empty() ? 0 : *std::max_element(levels.bottom.begin(), levels.bottom.end());
}

void count_nodes(const Graph& graph, Facts& facts) {
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    facts.sources += graph.in_degree(v) == 0 ? 1 : 0;
    facts.sinks += graph.out_degree(v) == 0 ? 1 : 0;
    facts.residuals += graph.is_residual(v) ? 1 : 0;
    facts.references += graph.kind(v) == NodeKind::reference ? 1 : 0;
    facts.greatest_temp = std::max(facts.greatest_temp, graph.temp(v));
    const bool owns_memory = graph.root(v) == v && graph.kind(v) != NodeKind::reference;
    if (owns_memory) (graph.is_residual(v) ? facts.residual_bytes : facts.output_bytes) += graph.mem(v);
  }
  for (std::int64_t d = 0; d < graph.num_depths(); ++d) facts.width = std::max(facts.width, graph.depth_end(d) - graph.depth_begin(d));
  for (EdgeId e = 0; e < graph.num_edges(); ++e) facts.control_edges += graph.bytes(e) == 0 ? 1 : 0;
}

/// The peak with every node on one device, wherever it is pinned.
Bytes single_device_peak(const Graph& graph) {
  const Machine machine = homogeneous_machine(1);
  const Placement all_on_first{std::vector<DeviceId>(static_cast<std::size_t>(graph.num_nodes()), 0), {}};
  return evaluate(graph, machine, all_on_first, Policy::fifo).devices[0].peak;
}

/// Critical path without communication: on one device edges cost nothing.
Nanoseconds path_without_communication(const Graph& graph) {
  const Machine machine = homogeneous_machine(1);
  const CostModel costs(graph, machine);
  const std::vector<DeviceId> one_device(static_cast<std::size_t>(graph.num_nodes()), 0);
  const std::vector<Nanoseconds> bottom = placed_bottom_levels(costs, one_device);
  return bottom.empty() ? 0 : *std::max_element(bottom.begin(), bottom.end());
}

Facts facts_of(const Graph& graph) {
  Facts facts;
  facts.depths = graph.num_depths();
  facts.units = graph.num_units();
  facts.work = graph.total_comp();
  facts.edge_bytes = graph.total_bytes();
  count_nodes(graph, facts);
  facts.critical_path = path_without_communication(graph);
  facts.peak_on_one = single_device_peak(graph);
  return facts;
}

MachineFacts machine_facts(const Graph& graph, const Machine& machine) {
  MachineFacts facts;
  const CostModel costs(graph, machine);
  facts.name = machine.name;
  facts.devices = machine.num_devices();
  for (EdgeId e = 0; e < graph.num_edges(); ++e) facts.communication += costs.mean_cost(e);
  facts.critical_path = greatest_bottom_level(costs);
  facts.lower_bound = lower_bound(graph, machine);
  facts.ccr = graph.total_comp() == 0 ? 0.0 : static_cast<double>(facts.communication) / static_cast<double>(graph.total_comp());
  return facts;
}

std::string text_of(const LoadedGraph& loaded, const Facts& facts) {
  const Graph& graph = loaded.graph;
  std::string text = fmt::format("graph          {}\n", printable(graph.name().empty() ? loaded.file : graph.name()));
  text += fmt::format("fingerprint    {}\n", graph.fingerprint());
  text += fmt::format("size           {} nodes, {} edges ({} control), {} units that share a device\n", grouped(graph.num_nodes()), grouped(graph.num_edges()),
                      grouped(facts.control_edges), grouped(facts.units));
  text += fmt::format("shape          {} levels, at most {} nodes wide, {} sources, {} sinks\n", grouped(facts.depths), grouped(facts.width), grouped(facts.sources), grouped(facts.sinks));
  text += fmt::format("work           {} ({} ns)\n", format_time(facts.work), grouped(facts.work));
  text += fmt::format("critical path  {} ({} ns), average parallelism {:.2f}\n", format_time(facts.critical_path), grouped(facts.critical_path), facts.parallelism());
  text += fmt::format("memory         {} on one device, of it {} in {} residuals\n", format_bytes(facts.peak_on_one), format_bytes(facts.residual_bytes), grouped(facts.residuals));
  text += fmt::format("tensors        {} of outputs, {} over edges, greatest workspace {}\n", format_bytes(facts.output_bytes), format_bytes(facts.edge_bytes), format_bytes(facts.greatest_temp));
  return text;
}

std::string text_of(const MachineFacts& facts) {
  return fmt::format("machine        {}: CCR {:.3f}, critical path with communication {}, lower bound {} ({} ns)\n", printable(facts.name), facts.ccr,
                     format_time(facts.critical_path), format_time(facts.lower_bound), grouped(facts.lower_bound));
}

Json json_of(const LoadedGraph& loaded, const Facts& facts) {
  const Graph& graph = loaded.graph;
  return {{"format", "pardnn-info"},
          {"version", 1},
          {"graph", {{"name", graph.name()}, {"nodes", graph.num_nodes()}, {"edges", graph.num_edges()}, {"fingerprint", graph.fingerprint()}}},
          {"samples_per_step", graph.samples_per_step()},
          {"levels", facts.depths},
          {"width", facts.width},
          {"sources", facts.sources},
          {"sinks", facts.sinks},
          {"control_edges", facts.control_edges},
          {"units", facts.units},
          {"residuals", facts.residuals},
          {"references", facts.references},
          {"work_ns", facts.work},
          {"critical_path_ns", facts.critical_path},
          {"parallelism", facts.parallelism()},
          {"edge_bytes", facts.edge_bytes},
          {"output_bytes", facts.output_bytes},
          {"residual_bytes", facts.residual_bytes},
          {"greatest_temp_bytes", facts.greatest_temp},
          {"single_device_peak_bytes", facts.peak_on_one}};
}

Json json_of(const MachineFacts& facts) {
  return {{"name", facts.name},
          {"devices", facts.devices},
          {"communication_ns", facts.communication},
          {"ccr", facts.ccr},
          {"critical_path_ns", facts.critical_path},
          {"lower_bound_ns", facts.lower_bound}};
}

int run(const Flags& flags) {
  if (flags.json) check_outputs({*flags.json}, {flags.graph});
  std::optional<Machine> machine;
  if (flags.machine.names_a_machine()) machine = machine_of(flags.machine);
  Session session({});
  const LoadedGraph loaded = load_graph(flags.graph, false, session);
  const Facts facts = facts_of(loaded.graph);
  Json json = json_of(loaded, facts);
  std::string text = text_of(loaded, facts);
  if (machine) {
    const MachineFacts about = with_file_named(loaded.file, [&] { return machine_facts(loaded.graph, *machine); });
    json["machine"] = json_of(about);
    text += text_of(about);
  }
  session.display().print(text);
  if (flags.json) write_document(*flags.json, json.dump(2, ' ', false, Json::error_handler_t::replace));
  return kDone;
}

}  // namespace

Run add_info(CLI::App& app) {
  const auto flags = std::make_shared<Flags>();
  app.add_option("graph", flags->graph, "graph file")->required()->type_name("GRAPH.h5");
  add_json_flag(app, flags->json);
  add_machine_flags(app, flags->machine);
  app.footer("With a machine it also gives the ratio of communication to computation (CCR).\nexample: pardnn info model.h5 --devices 4");
  return [flags](const RunContext&) { return run(*flags); };
}

}  // namespace pardnn::cli
