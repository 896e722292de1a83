#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/advice.hpp"
#include "cli/chrome_trace.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/interrupt.hpp"
#include "cli/loaded_graph.hpp"
#include "cli/option_flags.hpp"
#include "cli/outcome.hpp"
#include "cli/output_files.hpp"
#include "cli/placement_files.hpp"
#include "cli/report.hpp"
#include "cli/result_json.hpp"
#include "cli/session.hpp"
#include "pardnn/emulate.hpp"
#include "pardnn/error.hpp"

namespace pardnn::cli {

namespace {

struct Flags {
  std::string graph, placement;
  std::optional<std::string> policy, trace;
  MachineFlags machine;
  SessionFlags session;
};

void check_files(const Flags& flags) {
  std::vector<std::string> inputs{flags.graph, flags.placement}, outputs;
  if (flags.machine.machine) inputs.push_back(*flags.machine.machine);
  if (flags.session.json) outputs.push_back(*flags.session.json);
  if (flags.trace) outputs.push_back(*flags.trace);
  if (flags.trace) check_extension(*flags.trace, {".json"}, "a trace file");
  check_outputs(outputs, inputs);
}

/// The machine of the flags; where they name none, the one that the placement was made for, with its headroom.
Machine machine_for(const Flags& flags, const PlacementFile& file) {
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

Policy policy_for(const Flags& flags, const PlacementFile& file) {
  if (flags.policy) return parse_policy(*flags.policy);
  return file.policy.empty() ? Policy::fifo : parse_policy(file.policy);
}

void warn_of_differences(const PlacementFile& file, const Machine& machine, Session& session) {
  if (file.devices > 0 && file.devices != machine.num_devices()) {
    session.warn(fmt::format("the placement was made for {} devices, the machine has {}", file.devices, machine.num_devices()));
  }
}

int run(const Flags& flags) {
  check_files(flags);
  Session session(flags.session);
  const LoadedGraph loaded = load_graph(flags.graph, flags.trace || placement_needs_names(flags.placement), session);
  const PlacementFile file = read_placement_for(flags.placement, loaded);
  Machine machine = machine_for(flags, file);
  if (!flags.machine.links && !file.links.empty()) machine.links = parse_links(file.links);
  warn_of_differences(file, machine, session);
  const Placement placement = placement_of(file, flags.placement, loaded, machine.num_devices());

  Outcome outcome;
  outcome.method = "given placement";
  outcome.policy = policy_for(flags, file);
  outcome.links = machine.links;
  outcome.threads = session.threads();
  if (file.seed != 0) outcome.seed = file.seed;
  Schedule schedule;
  {
    const auto stage = session.clock().stage("evaluate");
    outcome.evaluation = with_file_named(loaded.file, [&] { return evaluate(loaded.graph, machine, placement, outcome.policy, &schedule); });
  }
  outcome.capacity_needed = capacity_for(outcome.evaluation.greatest_peak(), machine.headroom);
  for (const std::string& line : placement_advice(loaded.graph, outcome.evaluation)) session.warn(line);
  save_work_on_signals();  // from here on files are written: whole, and no temporary one is left
  if (flags.trace) {
    const auto stage = session.clock().stage("write");
    write_chrome_trace(*flags.trace, loaded, machine, placement, schedule);
  }
  outcome.warnings = session.warnings();
  outcome.stages = session.stages();
  outcome.elapsed_seconds = session.elapsed_seconds();
  // Without a JSON result this is the only one, so --progress none leaves it.
  const std::string summary = summary_text(loaded, machine, outcome);
  flags.session.json ? session.display().print(summary) : session.report(summary);
  if (flags.session.json) write_document(*flags.session.json, result_json(loaded, machine, outcome));
  if (caught_signal() != 0) return kSignal + caught_signal();
  return outcome.evaluation.feasible ? kDone : kNotFeasible;
}

}  // namespace

Run add_evaluate(CLI::App& app) {
  const auto flags = std::make_shared<Flags>();
  app.add_option("graph", flags->graph, "graph file")->required()->type_name("GRAPH.h5");
  app.add_option("placement", flags->placement, "placement file: .h5, .tsv or .json")->required()->type_name("PLACEMENT");
  add_policy_flag(app, flags->policy);
  add_text_flag(app, "--trace", flags->trace, "the emulated run as a Chrome trace (chrome://tracing, Perfetto)", "FILE.json");
  add_machine_flags(app, flags->machine);
  add_session_flags(app, flags->session);
  app.footer("Without a flag, policy and links are the placement's, and so is the machine.\n"
             "example: pardnn evaluate model.h5 placement.tsv --devices 4 --memory 32GiB --trace run.json");
  return [flags](const RunContext&) { return run(*flags); };
}

}  // namespace pardnn::cli
