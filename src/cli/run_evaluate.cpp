#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/advice.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/given_placement.hpp"
#include "cli/interrupt.hpp"
#include "cli/outcome.hpp"
#include "cli/output_files.hpp"
#include "cli/report.hpp"
#include "cli/result_json.hpp"
#include "pardnn/emulate.hpp"
#include "report/chrome_trace.hpp"

namespace pardnn::cli {

namespace {

struct Flags {
  GivenFlags given;
  std::optional<std::string> trace;
  SessionFlags session;
};

void check_files(const Flags& flags) {
  std::vector<std::string> outputs;
  if (flags.session.json) outputs.push_back(*flags.session.json);
  if (flags.trace) outputs.push_back(*flags.trace);
  if (flags.trace) check_extension(*flags.trace, {".json"}, "a trace file");
  check_outputs(outputs, flags.given.inputs());
}

int run(const Flags& flags) {
  check_files(flags);
  Session session(flags.session);
  const GivenPlacement given = read_given_placement(flags.given, flags.trace.has_value(), session);
  const LoadedGraph& loaded = given.loaded;

  Outcome outcome;
  outcome.method = "given placement";
  outcome.policy = given.policy;
  outcome.links = given.machine.links;
  outcome.threads = session.threads();
  if (given.seed != 0) outcome.seed = given.seed;
  {
    const auto stage = session.clock().stage("evaluate");
    outcome.evaluation = with_file_named(loaded.file, [&] { return evaluate(loaded.graph, given.machine, given.placement, outcome.policy); });
  }
  outcome.capacity_needed = capacity_for(outcome.evaluation.greatest_peak(), given.machine.headroom);
  for (const std::string& line : placement_advice(loaded.graph, outcome.evaluation)) session.warn(line);
  save_work_on_signals();  // from here on files are written: whole, and no temporary one is left
  if (flags.trace) {
    const auto stage = session.clock().stage("write");
    write_chrome_trace(*flags.trace, EmulatedRun(loaded.graph, loaded.names, given.machine, given.placement, given.policy));
  }
  outcome.warnings = session.warnings();
  outcome.stages = session.stages();
  outcome.elapsed_seconds = session.elapsed_seconds();
  // Without a JSON result this is the only one, so --progress none leaves it.
  const std::string summary = summary_text(loaded, given.machine, outcome);
  flags.session.json ? session.display().print(summary) : session.report(summary);
  if (flags.session.json) write_document(*flags.session.json, result_json(loaded, given.machine, outcome));
  if (caught_signal() != 0) return kSignal + caught_signal();
  return outcome.evaluation.feasible ? kDone : kNotFeasible;
}

}  // namespace

Run add_evaluate(CLI::App& app) {
  const auto flags = std::make_shared<Flags>();
  add_given_flags(app, flags->given);
  add_text_flag(app, "--trace", flags->trace, "the emulated run as a Chrome trace (chrome://tracing, Perfetto): nodes, transfers, memory", "FILE.json");
  add_session_flags(app, flags->session);
  app.footer("Without a flag, policy and links are the placement's, and so is the machine.\n"
             "example: pardnn evaluate model.h5 placement.tsv --devices 4 --memory 32GiB --trace run.json");
  return [flags](const RunContext&) { return run(*flags); };
}

}  // namespace pardnn::cli
