#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/advice.hpp"
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
#include "pardnn/error.hpp"
#include "pardnn/partition.hpp"

namespace pardnn::cli {

namespace {

struct Flags {
  std::string graph;
  std::vector<std::string> outputs;
  std::string preset = "default";
  std::int64_t seeds = 1;
  std::uint64_t seed = 1;
  std::optional<std::string> time_limit, policy, start;
  MachineFlags machine;
  SessionFlags session;

  bool needs_names() const {
    bool needed = start && placement_needs_names(*start);
    for (const std::string& file : outputs) needed = needed || placement_needs_names(file);
    return needed;
  }
};

void check_files(const Flags& flags) {
  std::vector<std::string> inputs{flags.graph}, outputs = flags.outputs;
  if (flags.start) inputs.push_back(*flags.start);
  if (flags.machine.machine) inputs.push_back(*flags.machine.machine);
  if (flags.session.json) outputs.push_back(*flags.session.json);
  for (const std::string& file : flags.outputs) check_placement_extension(file);
  check_outputs(outputs, inputs);
}

Nanoseconds time_limit_of(const Flags& flags) {
  if (!flags.time_limit) return 0;
  const Nanoseconds limit = parse_time_flag("--time-limit", *flags.time_limit);
  if (limit == 0) throw InputError("--time-limit: it must be more than 0");
  return limit;
}

Options options_of(const Flags& flags, Session& session, Nanoseconds limit) {
  Options options;
  options.preset = parse_preset(flags.preset);
  if (flags.policy) options.policy = parse_policy(*flags.policy);
  options.seed = flags.seed;
  options.seeds = static_cast<int>(flags.seeds);
  options.threads = session.threads();
  options.progress = &session.display();
  options.should_stop = [&session, limit] { return caught_signal() != 0 || session.is_over(limit); };
  return options;
}

Outcome outcome_of(const Result& result, const Options& options, const Flags& flags, const Machine& machine, Session& session) {
  Outcome outcome;
  outcome.method = result.method;
  outcome.policy = options.policy;
  outcome.links = machine.links;
  outcome.preset = flags.preset;
  outcome.seed = options.seed;
  outcome.seeds = options.seeds;
  outcome.threads = session.threads();
  outcome.evaluation = result.evaluation;
  outcome.capacity_needed = result.capacity_needed;
  outcome.cannot_fit = result.cannot_fit;
  outcome.proof = result.proof;
  outcome.capacity_bound = result.capacity_bound;
  return outcome;
}

void write_outputs(const Flags& flags, const LoadedGraph& loaded, const Machine& machine, const Options& options, const Result& result, Session& session) {
  if (flags.outputs.empty()) return;
  const auto stage = session.clock().stage("write");
  const PlacementFile file = placement_file_of(loaded, machine, options.policy, options.seed, result.placement, result.schedule, result.evaluation);
  for (const std::string& output : flags.outputs) write_placement_file(output, file, loaded.names);
}

std::string stop_reason(Session& session, Nanoseconds limit) {
  if (const int number = caught_signal(); number != 0) return fmt::format("signal {}", number);
  return session.is_over(limit) ? "time limit" : "";
}

int run(const Flags& flags) {
  Machine machine = machine_of(flags.machine);
  const Nanoseconds limit = time_limit_of(flags);
  check_files(flags);
  Session session(flags.session);
  Options options = options_of(flags, session, limit);
  const LoadedGraph loaded = load_graph(flags.graph, flags.needs_names(), session);
  if (flags.start) options.start = placement_of(read_placement_for(*flags.start, loaded), *flags.start, loaded, machine.num_devices());
  for (const std::string& line : graph_advice(loaded, machine)) session.warn(line);

  save_work_on_signals();
  const Result result = with_file_named(loaded.file, [&] { return partition(loaded.graph, machine, options); });
  const std::string stopped_by = stop_reason(session, limit);
  session.stages().insert(session.stages().end(), result.stages.begin(), result.stages.end());
  for (const std::string& line : result.warnings) session.warn(line);
  for (const std::string& line : placement_advice(loaded.graph, result.evaluation)) session.warn(line);
  write_outputs(flags, loaded, machine, options, result, session);

  Outcome outcome = outcome_of(result, options, flags, machine, session);
  outcome.stopped_by = stopped_by;
  outcome.warnings = session.warnings();
  outcome.stages = session.stages();
  outcome.elapsed_seconds = session.elapsed_seconds();
  if (!stopped_by.empty()) session.display().print(fmt::format("stopped by {}: the best placement so far\n", stopped_by));
  session.display().print(stage_text(outcome.stages, outcome.elapsed_seconds) + summary_text(loaded, machine, outcome));
  if (flags.session.json) write_document(*flags.session.json, result_json(loaded, machine, outcome));
  if (caught_signal() != 0) return kSignal + caught_signal();
  return outcome.evaluation.feasible ? kDone : kNotFeasible;
}

}  // namespace

Run add_partition(CLI::App& app) {
  const auto flags = std::make_shared<Flags>();
  app.add_option("graph", flags->graph, "graph file")->required()->type_name("GRAPH.h5");
  app.add_option("-o,--output", flags->outputs, "placement file, by extension .h5, .tsv or .json; may be repeated")->type_name("FILE")->expected(1)->take_all();
  app.add_option("--preset", flags->preset, "fast, default or strong: how much work is spent (default)")->type_name("WORD");
  add_count_flag(app, "--seeds", flags->seeds, 1'000'000, "number of seeds to explore (1)", "N");
  add_seed_flag(app, flags->seed, "first seed (1)");
  add_text_flag(app, "--time-limit", flags->time_limit, "stop then, with the best placement so far (none)", "60s");
  add_policy_flag(app, flags->policy);
  add_text_flag(app, "--start", flags->start, "placement file to start from, beside the tool's own starts", "PLACEMENT");
  add_machine_flags(app, flags->machine);
  add_session_flags(app, flags->session);
  app.footer("example: pardnn partition model.h5 --devices 4 --memory 32GiB -o placement.h5 --json -");
  return [flags] { return run(*flags); };
}

}  // namespace pardnn::cli
