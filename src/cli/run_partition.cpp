#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "checkpoint/checkpoint.hpp"
#include "cli/advice.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/fault.hpp"
#include "cli/interrupt.hpp"
#include "cli/loaded_graph.hpp"
#include "cli/option_flags.hpp"
#include "cli/outcome.hpp"
#include "cli/output_files.hpp"
#include "cli/placement_files.hpp"
#include "cli/report.hpp"
#include "cli/result_json.hpp"
#include "cli/session.hpp"
#include "cli/version.hpp"
#include "mpi/mpi_ranks.hpp"
#include "pardnn/error.hpp"
#include "partition_on.hpp"
#include "ranks/bytes.hpp"

namespace pardnn::cli {

namespace {

struct Flags {
  std::string graph;
  std::vector<std::string> outputs;
  std::string preset = "default";
  std::int64_t seeds = 1, ranks = 0;
  std::uint64_t seed = 1;
  std::optional<std::string> time_limit, policy, start, checkpoint;
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
  if (flags.checkpoint) outputs.push_back(*flags.checkpoint);
  for (const std::string& file : flags.outputs) check_placement_extension(file);
  check_outputs(outputs, inputs);
}

/// Collective: rank 0 reads the machine (its file may be a pipe), all get it.
Machine machine_on(const Flags& flags, Ranks& ranks) {
  Machine machine;
  ByteBuffer bytes;
  if (ranks.is_first()) {
    machine = machine_of(flags.machine);
    ByteWriter out;
    out.put_text(machine_json(machine));
    out.put(machine.headroom);
    out.put(machine.links);
    bytes = out.take();
  }
  ranks.broadcast(bytes);
  if (ranks.is_first()) return machine;
  ByteReader in(bytes);
  machine = parse_machine(in.get_text(), "the machine");
  machine.headroom = in.get<Millionths>();
  machine.links = in.get<Links>();
  return machine;
}

/// Collective: rank 0 reads the placement to start from, all get it.
std::optional<Placement> start_on(const Flags& flags, const LoadedGraph& loaded, const Machine& machine, Ranks& ranks) {
  if (!flags.start) return {};
  Placement start;
  ByteBuffer bytes;
  if (ranks.is_first()) {
    start = placement_of(read_placement_for(*flags.start, loaded), *flags.start, loaded, machine.num_devices());
    ByteWriter out;
    out.put_all(start.device);
    out.put_all(start.priority);
    bytes = out.take();
  }
  ranks.broadcast(bytes);
  if (ranks.is_first()) return start;
  ByteReader in(bytes);
  start.device = in.get_all<DeviceId>();
  start.priority = in.get_all<std::int64_t>();
  return start;
}

Nanoseconds time_limit_of(const Flags& flags) {
  if (!flags.time_limit) return 0;
  const Nanoseconds limit = parse_time_flag("--time-limit", *flags.time_limit);
  if (limit == 0) throw InputError("--time-limit: it must be more than 0");
  return limit;
}

/// One run of the command on one rank.
class PartitionRun {
 public:
  /// Collective, as everything here.
  PartitionRun(const Flags& flags, const RunContext& context);
  int run();

 private:
  Options options_of();
  RanksHooks hooks();
  void save(const SeedState& seeds);
  void write(const Result& result, const std::string& stopped_by, bool unfinished);
  void write_placements(const Result& result);
  Outcome outcome_of(const Result& result, const std::string& stopped_by, bool unfinished);
  std::string stop_reason(int caught) const;

  const Flags& flags_;
  Ranks& ranks_;
  Machine machine_;
  Nanoseconds limit_;
  Session session_;
  LoadedGraph loaded_;
  Options options_;
  std::optional<Checkpoint> checkpoint_;
};

/// Rank 0 looks at the files before anything takes time.
Machine checked_machine(const Flags& flags, const RunContext& context) {
  require_all_ranks(context.launch, context.ranks.size(), static_cast<int>(flags.ranks), mpi_library());
  Machine machine = machine_on(flags, context.ranks);
  if (context.ranks.is_first()) check_files(flags);
  return machine;
}

PartitionRun::PartitionRun(const Flags& flags, const RunContext& context)
    : flags_(flags),
      ranks_(context.ranks),
      machine_(checked_machine(flags, context)),
      limit_(time_limit_of(flags)),
      session_(flags.session, context),
      loaded_(load_shared_graph(flags.graph, flags.needs_names(), session_, ranks_)),
      options_(options_of()) {
  fail_if_asked("read", ranks_.rank());
  options_.start = start_on(flags, loaded_, machine_, ranks_);
  if (flags.checkpoint && ranks_.is_first()) {
    checkpoint_.emplace(*flags.checkpoint, run_identity(loaded_.graph, machine_, options_, "pardnn " + version_number()), loaded_.graph);
  }
}

Options PartitionRun::options_of() {
  Options options;
  options.preset = parse_preset(flags_.preset);
  if (flags_.policy) options.policy = parse_policy(*flags_.policy);
  options.seed = flags_.seed;
  options.seeds = static_cast<int>(flags_.seeds);
  options.threads = session_.threads();
  options.progress = &session_.display();
  options.should_stop = [this, fails = is_to_fail("search", ranks_.rank())] {
    if (fails) fail_if_asked("search", ranks_.rank());
    return session_.is_over(limit_);
  };
  return options;
}

RanksHooks PartitionRun::hooks() {
  RanksHooks hooks;
  hooks.seeds.caught = caught_signal;
  hooks.seeds.wants_result = asked_for_result;
  if (!flags_.outputs.empty() || flags_.session.json) {
    hooks.write_result = [this](const Result& result) {
      try {
        write(result, "", true);
        session_.display().print("SIGUSR1: the best placement so far is written; the search goes on\n");
      } catch (const SystemError& error) {
        session_.warn(std::string("SIGUSR1: ") + error.what());
      }
    };
  }
  if (!checkpoint_) return hooks;
  {
    const ReadGuard guard(*flags_.checkpoint);
    hooks.seeds.before = checkpoint_->read(flags_.seeds, machine_.num_devices());
  }
  if (const std::int64_t done = hooks.seeds.before.done.count(); done > 0) {
    session_.display().print(fmt::format("checkpoint: {} of {} seeds are done\n", done, flags_.seeds));
  }
  hooks.seeds.on_progress = [this](const SeedState& seeds) {
    if (checkpoint_->is_due()) save(seeds);
  };
  return hooks;
}

/// A checkpoint that cannot be written now may be later: the search goes on.
void PartitionRun::save(const SeedState& seeds) {
  try {
    checkpoint_->write(seeds);
  } catch (const SystemError& error) {
    session_.warn(error.what());
  }
}

Outcome PartitionRun::outcome_of(const Result& result, const std::string& stopped_by, bool unfinished) {
  Outcome outcome;
  outcome.method = result.method;
  outcome.policy = options_.policy;
  outcome.links = machine_.links;
  outcome.preset = flags_.preset;
  outcome.seed = options_.seed;
  outcome.seeds = options_.seeds;
  outcome.best_seed = result.best_seed;
  outcome.ranks = ranks_.size();
  outcome.threads = session_.threads();
  outcome.evaluation = result.evaluation;
  outcome.capacity_needed = result.capacity_needed;
  outcome.cannot_fit = result.cannot_fit;
  outcome.proof = result.proof;
  outcome.capacity_bound = result.capacity_bound;
  outcome.stopped_by = stopped_by;
  outcome.unfinished = unfinished;
  outcome.warnings = session_.warnings();
  outcome.stages = session_.stages();
  outcome.elapsed_seconds = session_.elapsed_seconds();
  return outcome;
}

void PartitionRun::write_placements(const Result& result) {
  if (flags_.outputs.empty()) return;
  const PlacementFile file = placement_file_of(loaded_, machine_, options_.policy, options_.seed, result.placement, result.schedule, result.evaluation);
  for (const std::string& output : flags_.outputs) write_placement_file(output, file, loaded_.names);
}

/// All outputs. Standard output takes one document in all, so an unfinished one does not go there.
void PartitionRun::write(const Result& result, const std::string& stopped_by, bool unfinished) {
  if (unfinished) {
    write_placements(result);
  } else {
    const auto stage = session_.clock().stage("write");
    write_placements(result);
  }
  const Outcome outcome = outcome_of(result, stopped_by, unfinished);
  if (!unfinished) session_.display().print(stage_text(outcome.stages, outcome.elapsed_seconds) + summary_text(loaded_, machine_, outcome));
  if (flags_.session.json && !(unfinished && *flags_.session.json == "-")) write_document(*flags_.session.json, result_json(loaded_, machine_, outcome));
}

std::string PartitionRun::stop_reason(int caught) const {
  if (caught != 0) return fmt::format("signal {}", caught);
  return session_.is_over(limit_) ? "time limit" : "";
}

int PartitionRun::run() {
  if (ranks_.is_first()) {
    for (const std::string& line : graph_advice(loaded_, machine_)) session_.warn(line);
  }
  save_work_on_signals();
  const RanksResult all = with_file_named(loaded_.file, [&] { return partition_on(ranks_, loaded_.graph, machine_, options_, hooks()); });
  fail_if_asked("write", ranks_.rank());
  if (!ranks_.is_first()) return kDone;
  const Result& result = all.result;
  const int caught = all.caught != 0 ? all.caught : caught_signal();
  const std::string stopped_by = stop_reason(caught);
  session_.stages().insert(session_.stages().end(), result.stages.begin(), result.stages.end());
  for (const std::string& line : result.warnings) session_.warn(line);
  for (const std::string& line : placement_advice(loaded_.graph, result.evaluation)) session_.warn(line);
  if (!stopped_by.empty()) session_.display().print(fmt::format("stopped by {}: the best placement so far\n", stopped_by));
  write(result, stopped_by, false);
  if (checkpoint_) checkpoint_->write(all.seeds);
  if (caught != 0) return kSignal + caught;
  return result.evaluation.feasible ? kDone : kNotFeasible;
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
  add_text_flag(app, "--checkpoint", flags->checkpoint, "keep the seeds that are done and their best placement in this file; the same command goes on from there", "FILE.h5");
  add_count_flag(app, "--ranks", flags->ranks, 1'000'000, "refuse to run on any other number of MPI ranks (what mpirun or srun says)", "N");
  add_text_flag(app, "--start", flags->start, "placement file to start from, beside the tool's own starts", "PLACEMENT");
  add_machine_flags(app, flags->machine);
  add_session_flags(app, flags->session);
  app.footer("example: pardnn partition model.h5 --devices 4 --memory 32GiB -o placement.h5 --json -");
  return [flags](const RunContext& context) { return PartitionRun(*flags, context).run(); };
}

}  // namespace pardnn::cli
