#include <chrono>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "baselines/baselines.hpp"
#include "cli/advice.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/interrupt.hpp"
#include "cli/loaded_graph.hpp"
#include "cli/option_flags.hpp"
#include "cli/outcome.hpp"
#include "cli/output_files.hpp"
#include "cli/report.hpp"
#include "cli/result_json.hpp"
#include "cli/session.hpp"
#include "core/nearest.hpp"
#include "pardnn/emulate.hpp"
#include "pardnn/error.hpp"
#include "pardnn/partition.hpp"

namespace pardnn::cli {

namespace {

struct Flags {
  std::string graph;
  std::optional<std::string> methods, policy;
  std::uint64_t seed = 1;
  MachineFlags machine;
  SessionFlags session;
};

/// A row of the table: a baseline, or our own pipeline with a preset.
struct Method {
  std::string_view name, what;
  const Baseline* baseline = nullptr;
  Preset preset = Preset::standard;
  bool by_default = true;
};

std::vector<Method> all_methods() {
  std::vector<Method> methods;
  for (const Baseline& baseline : all_baselines()) methods.push_back({baseline.name, baseline.what, &baseline, Preset::standard, true});
  methods.push_back({"pardnn-fast", "this tool, --preset fast", nullptr, Preset::fast, true});
  methods.push_back({"pardnn", "this tool, --preset default", nullptr, Preset::standard, true});
  methods.push_back({"pardnn-strong", "this tool, --preset strong (only if asked for)", nullptr, Preset::strong, false});
  return methods;
}

Method find_method(const std::vector<Method>& all, std::string_view name) {
  std::vector<std::string_view> known;
  for (const Method& method : all) {
    if (method.name == name) return method;
    known.push_back(method.name);
  }
  throw InputError(fmt::format("--methods: unknown method '{}'; did you mean '{}'? known: {}", printable(name, 40), nearest(name, known), listed(known)));
}

std::vector<Method> chosen_methods(const Flags& flags) {
  const std::vector<Method> all = all_methods();
  std::vector<Method> chosen;
  if (!flags.methods) {
    for (const Method& method : all) {
      if (method.by_default) chosen.push_back(method);
    }
    return chosen;
  }
  std::string_view rest = *flags.methods;
  for (bool more = true; more;) {
    const std::size_t comma = rest.find(',');
    more = comma != std::string_view::npos;
    chosen.push_back(find_method(all, rest.substr(0, comma)));
    if (more) rest.remove_prefix(comma + 1);
  }
  return chosen;
}

/// What all methods of one comparison share.
struct Setting {
  const LoadedGraph& loaded;
  const Machine& machine;
  const CostModel& costs;
  Policy policy;
  std::uint64_t seed;
  int threads;
};

void run_baseline(const Setting& setting, const Method& method, Outcome& outcome) {
  Constructed made = method.baseline->run(setting.costs);
  const Placement placement{std::move(made.device), std::move(made.priority)};
  outcome.evaluation = evaluate(setting.loaded.graph, setting.machine, placement, setting.policy);
  outcome.capacity_needed = capacity_for(outcome.evaluation.greatest_peak(), setting.machine.headroom);
}

void run_ours(const Setting& setting, const Method& method, Outcome& outcome) {
  Options options;
  options.preset = method.preset;
  options.policy = setting.policy;
  options.seed = setting.seed;
  options.threads = setting.threads;
  options.should_stop = [] { return caught_signal() != 0; };
  const Result result = partition(setting.loaded.graph, setting.machine, options);
  outcome.preset = word_for(method.preset);
  outcome.seed = setting.seed;
  outcome.evaluation = result.evaluation;
  outcome.capacity_needed = result.capacity_needed;
  outcome.cannot_fit = result.cannot_fit;
  outcome.proof = result.proof;
  outcome.capacity_bound = result.capacity_bound;
  outcome.warnings = result.warnings;
  outcome.stages = result.stages;
}

Outcome run_method(const Setting& setting, const Method& method) {
  const auto start = std::chrono::steady_clock::now();
  Outcome outcome;
  outcome.method = method.name;
  outcome.policy = setting.policy;
  outcome.links = setting.machine.links;
  outcome.threads = setting.threads;
  method.baseline != nullptr ? run_baseline(setting, method, outcome) : run_ours(setting, method, outcome);
  outcome.elapsed_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return outcome;
}

/// Feasible first, then the least makespan, then the first.
std::size_t best_of(const std::vector<Outcome>& outcomes) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < outcomes.size(); ++i) {
    const Evaluation &a = outcomes[i].evaluation, &b = outcomes[best].evaluation;
    if (a.feasible != b.feasible ? a.feasible : a.makespan < b.makespan) best = i;
  }
  return best;
}

std::vector<Outcome> run_methods(const Setting& setting, const std::vector<Method>& methods, Session& session) {
  std::vector<Outcome> outcomes;
  for (const Method& method : methods) {
    if (caught_signal() != 0) break;
    const auto stage = session.clock().stage(std::string(method.name));
    outcomes.push_back(run_method(setting, method));
  }
  return outcomes;
}

int run(const Flags& flags) {
  const Machine machine = machine_of(flags.machine);
  const std::vector<Method> methods = chosen_methods(flags);
  const Policy policy = flags.policy ? parse_policy(*flags.policy) : Policy::fifo;
  if (flags.session.json) check_outputs({*flags.session.json}, {flags.graph, flags.machine.machine.value_or("")});
  Session session(flags.session);
  const LoadedGraph loaded = load_graph(flags.graph, false, session);
  for (const std::string& line : graph_advice(loaded, machine)) session.warn(line);
  const CostModel costs = with_file_named(loaded.file, [&] {
    require_pinned_devices(loaded.graph, machine);
    return CostModel(loaded.graph, machine);
  });
  save_work_on_signals();
  const std::vector<Outcome> outcomes = run_methods({loaded, machine, costs, policy, flags.seed, session.threads()}, methods, session);
  const std::size_t best = best_of(outcomes);
  session.report(comparison_text(outcomes, best));
  if (flags.session.json) {
    write_document(*flags.session.json, comparison_json(loaded, machine, outcomes, best, session.warnings(), session.elapsed_seconds()));
  }
  if (caught_signal() != 0) return kSignal + caught_signal();
  return outcomes[best].evaluation.feasible ? kDone : kNotFeasible;
}

std::string method_list() {
  std::string text = "methods:\n";
  for (const Method& method : all_methods()) text += fmt::format("  {:<14} {}\n", method.name, method.what);
  return text + "example: pardnn compare model.h5 --devices 4 --memory 32GiB --methods heft,etf,pardnn";
}

}  // namespace

Run add_compare(CLI::App& app) {
  const auto flags = std::make_shared<Flags>();
  app.add_option("graph", flags->graph, "graph file")->required()->type_name("GRAPH.h5");
  add_text_flag(app, "--methods", flags->methods, "which methods, in this order (all)", "A,B,...");
  add_seed_flag(app, flags->seed, "seed of this tool's own methods (1)");
  add_policy_flag(app, flags->policy);
  add_machine_flags(app, flags->machine);
  add_session_flags(app, flags->session);
  app.footer(method_list());
  return [flags](const RunContext&) { return run(*flags); };
}

}  // namespace pardnn::cli
