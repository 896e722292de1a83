#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/advice.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/given_placement.hpp"
#include "cli/interrupt.hpp"
#include "cli/output_files.hpp"
#include "cli/version.hpp"
#include "costs/cost_model.hpp"
#include "pardnn/emulate.hpp"
#include "report/report_page.hpp"

namespace pardnn::cli {

namespace {

struct Flags {
  GivenFlags given;
  std::string output;
  SessionFlags session;
};

ReportWords words_for(const Flags& flags, const GivenPlacement& given) {
  const std::string& name = given.loaded.graph.name();
  return {name.empty() ? given.loaded.file : name, flags.given.placement, version_number(), word_for(given.policy), word_for(given.machine.links), decimal(given.machine.headroom)};
}

int run(const Flags& flags) {
  check_extension(flags.output, {".html", ".htm"}, "a report");
  check_outputs({flags.output}, flags.given.inputs());
  Session session(flags.session);
  const GivenPlacement given = read_given_placement(flags.given, true, session);
  const Graph& graph = given.loaded.graph;
  Evaluation evaluation;
  {
    const auto stage = session.clock().stage("evaluate");
    evaluation = with_file_named(given.loaded.file, [&] {
      require_pinned_devices(graph, given.machine);  // the other methods could place nothing
      return evaluate(graph, given.machine, given.placement, given.policy);
    });
  }
  for (const std::string& line : placement_advice(graph, evaluation)) session.warn(line);
  EmulatedRun emulated(graph, given.loaded.names, given.machine, given.placement, given.policy);
  Rivals rivals;
  {
    const auto stage = session.clock().stage("baselines");
    rivals = find_rivals(emulated.costs(), given.policy);
  }
  save_work_on_signals();
  {
    const auto stage = session.clock().stage("write");
    write_document(flags.output, report_page(emulated, evaluation, rivals, words_for(flags, given)));
  }
  session.report(fmt::format("wrote {}\n", printable(flags.output)));
  if (caught_signal() != 0) return kSignal + caught_signal();
  return evaluation.feasible ? kDone : kNotFeasible;
}

}  // namespace

Run add_report(CLI::App& app) {
  const auto flags = std::make_shared<Flags>();
  add_given_flags(app, flags->given);
  app.add_option("-o,--output", flags->output, "one self-contained page")->required()->type_name("REPORT.html");
  add_count_flag(app, "--threads", flags->session.threads, 65536, "threads (as many as this process may use); never changes a result", "N");
  app.add_option("--progress", flags->session.progress, "auto, bar (terminal), log (sparse lines) or none")->type_name("WORD");
  app.add_flag("-q,--quiet", flags->session.quiet, "errors only: no progress, no warnings");
  app.footer("Without a flag, policy and links are the placement's, and so is the machine.\n"
             "example: pardnn report model.h5 placement.h5 -o report.html");
  return [flags](const RunContext&) { return run(*flags); };
}

}  // namespace pardnn::cli
