#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/advice.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/interrupt.hpp"
#include "cli/loaded_graph.hpp"
#include "cli/option_flags.hpp"
#include "cli/output_files.hpp"
#include "cli/placement_files.hpp"
#include "cli/plan_hosts.hpp"
#include "cli/plan_json.hpp"
#include "cli/report.hpp"
#include "cli/session.hpp"
#include "cli/text_table.hpp"
#include "pardnn/emulate.hpp"
#include "pardnn/error.hpp"
#include "plan/planner.hpp"

namespace pardnn::cli {

namespace {

namespace fs = std::filesystem;

struct Flags {
  std::string graph;
  std::string preset = "default";
  std::uint64_t seed = 1;
  std::optional<std::string> policy, output, placements, bucket, splits, hosts;
  MachineFlags machine;
  SessionFlags session;
};

void check_files(const Flags& flags) {
  std::vector<std::string> outputs;
  if (flags.session.json) outputs.push_back(*flags.session.json);
  if (flags.output) {
    check_extension(*flags.output, {".json"}, "a plan");
    outputs.push_back(*flags.output);
  }
  check_outputs(outputs, {flags.graph, flags.machine.machine.value_or("")});
  std::error_code error;
  if (flags.placements && !fs::is_directory(*flags.placements, error)) throw InputError(fmt::format("--placements: there is no folder '{}'", printable(*flags.placements)));
}

Bytes bucket_bytes(const Flags& flags) {
  if (!flags.bucket) return PlanOptions{}.bucket_bytes;
  try {
    const Bytes bytes = parse_bytes(*flags.bucket);
    if (bytes < 1) throw InputError(fmt::format("'{}': a bucket holds at least one byte", printable(*flags.bucket, 40)));
    return bytes;
  } catch (const InputError& error) {
    throw InputError(fmt::format("--bucket: {}", error.what()));
  }
}

/// "1,2,4": ascending, each once.
std::vector<DeviceId> splits_of(const Flags& flags, const Machine& machine) {
  std::vector<DeviceId> splits;
  if (!flags.splits) return splits;
  std::string_view rest = *flags.splits;
  for (bool more = true; more;) {
    const std::size_t comma = rest.find(',');
    more = comma != std::string_view::npos;
    const std::string_view word = rest.substr(0, comma);
    DeviceId k = 0;
    const auto end = std::from_chars(word.data(), word.data() + word.size(), k);
    if (end.ec != std::errc{} || end.ptr != word.data() + word.size() || k < 1 || k > machine.num_devices()) {
      throw InputError(fmt::format("--devices-per-replica: '{}': expected whole numbers from 1 to {}, with commas between", printable(word, 40), machine.num_devices()));
    }
    splits.push_back(k);
    if (more) rest.remove_prefix(comma + 1);
  }
  std::sort(splits.begin(), splits.end());
  splits.erase(std::unique(splits.begin(), splits.end()), splits.end());
  return splits;
}

std::string split_name(const PlanRow& row) { return fmt::format("{} x {}", row.replicas, row.devices); }

std::string table_text(const PlanSetting& setting, const std::vector<PlanRow>& rows, std::size_t best) {
  std::vector<std::vector<std::string>> cells{{"", "replicas x devices", "samples/s", "step", "alone", "reducing", "reduced", "greatest peak", "fits"}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const PlanRow& row = rows[i];
    cells.push_back({i == best ? "*" : "", split_name(row), fmt::format("{:.2f}", row.samples_per_second(setting.loaded.graph.samples_per_step())), format_time(row.step.time),
                     format_time(row.step.time_alone), row.replicas > 1 ? format_time(row.step.greatest_reduction) : "-",
                     row.replicas > 1 ? format_bytes(row.step.reduced_bytes) : "-", format_bytes(*std::max_element(row.step.peak.begin(), row.step.peak.end())),
                     row.fits ? "yes" : row.cannot_fit ? "no (proven)" : "no"});
  }
  return text_table(cells, 2);
}

std::string chosen_text(const PlanSetting& setting, const PlanRow& row) {
  std::string text = fmt::format("chosen       {} replica{} of {} device{}, {} of {} devices in use, links {}, policy {}\n", row.replicas, row.replicas == 1 ? "" : "s", row.devices,
                                 row.devices == 1 ? "" : "s", row.replicas * row.devices, setting.machine.num_devices(), word_for(setting.machine.links), word_for(setting.policy));
  if (!row.fits) text += "feasible     no: nothing that was tried fits; this one lacks the least\n";
  return text;
}

class PlanRun {
 public:
  PlanRun(const Flags& flags, Session& session, const LoadedGraph& loaded, const Machine& machine, const std::vector<PlanHost>& hosts)
      : flags_(flags), session_(session), setting_{loaded, machine, hosts, flags.policy ? parse_policy(*flags.policy) : Policy::fifo, bucket_bytes(flags)} {}

  int run() {
    const std::vector<Gradient> gradients = find_gradients(setting_.loaded.graph, setting_.loaded.gradient_of);
    if (gradients.empty() && setting_.machine.num_devices() > 1) {
      session_.warn("the graph names no gradients (/nodes/gradient_of): nobody knows what replicas would reduce, so only one replica is planned");
    }
    PlanOptions options;
    options.partition.preset = parse_preset(flags_.preset);
    options.partition.policy = setting_.policy;
    options.partition.seed = flags_.seed;
    options.partition.threads = session_.threads();
    options.partition.should_stop = [] { return caught_signal() != 0; };
    options.bucket_bytes = setting_.bucket_bytes;
    options.devices_per_replica = splits_of(flags_, setting_.machine);
    const bool whole = [&] {
      const auto stage = session_.clock().stage("plan");
      return with_file_named(setting_.loaded.file, [&] {
        return plan_splits({setting_.loaded.graph, gradients, setting_.machine}, options, [this](PlanRow row, const Placement& placement) { take(std::move(row), placement); });
      });
    }();
    return finish(whole);
  }

 private:
  void take(PlanRow row, const Placement& placement) {
    session_.display().print(fmt::format("{}: {}{}\n", split_name(row), format_time(row.step.time), row.fits ? "" : ", does not fit"));
    if (flags_.placements) write_placement(row, placement);
    if (rows_.empty() || is_better_plan(row, rows_[best_])) {
      best_ = rows_.size();
      keep(row, placement);
    }
    row.step.schedule = {};  // only the best row's is needed
    rows_.push_back(std::move(row));
  }

  /// Devices and order of the best row, if they will stand in the plan.
  void keep(const PlanRow& row, const Placement& placement) {
    if (!flags_.output || flags_.placements) return;
    const Graph& graph = setting_.loaded.graph;
    inline_.device = graph.to_file_order(std::span<const DeviceId>(placement.device));
    inline_.order.assign(row.step.schedule.start_order.size(), 0);
    for (std::size_t i = 0; i < inline_.order.size(); ++i) {
      inline_.order[static_cast<std::size_t>(graph.file_id(row.step.schedule.start_order[i]))] = static_cast<std::int64_t>(i);
    }
  }

  std::string placement_path(const PlanRow& row) const { return (fs::path(*flags_.placements) / fmt::format("{}x{}.h5", row.replicas, row.devices)).string(); }

  /// The placement of one replica, with order and times of its step with reductions.
  void write_placement(const PlanRow& row, const Placement& placement) const {
    const Machine part = sub_machine(setting_.machine, row.slices.front());
    Evaluation evaluation = evaluate(setting_.loaded.graph, part, placement, setting_.policy);
    evaluation.makespan = row.step.time;
    evaluation.feasible = row.fits;
    const PlacementFile file = placement_file_of(setting_.loaded, part, setting_.policy, flags_.seed, placement, row.step.schedule, evaluation);
    write_placement_file(placement_path(row), file, setting_.loaded.names);
  }

  int finish(bool whole) {
    const int caught = caught_signal();
    const std::string stopped_by = whole ? "" : fmt::format("signal {}", caught);
    session_.report(table_text(setting_, rows_, best_) + chosen_text(setting_, rows_[best_]));
    if (flags_.output) {
      std::string file;
      if (flags_.placements) file = fs::absolute(placement_path(rows_[best_])).lexically_relative(fs::absolute(*flags_.output).parent_path()).string();
      write_document(*flags_.output, plan_json(setting_, rows_[best_], file, inline_));
    }
    if (flags_.session.json) {
      write_document(*flags_.session.json, plans_json(setting_, rows_, best_, session_.warnings(), stopped_by, session_.elapsed_seconds()));
    }
    if (caught != 0) return kSignal + caught;
    return rows_[best_].fits ? kDone : kNotFeasible;
  }

  const Flags& flags_;
  Session& session_;
  PlanSetting setting_;
  std::vector<PlanRow> rows_;
  std::size_t best_ = 0;
  InlinePlacement inline_;
};

int run(const Flags& flags) {
  check_files(flags);
  const Machine machine = machine_of(flags.machine);
  const std::vector<PlanHost> hosts = plan_hosts(machine, flags.hosts);
  Session session(flags.session);
  const LoadedGraph loaded = load_graph(flags.graph, false, session, Gradients::kept);
  for (const std::string& line : graph_advice(loaded, machine)) session.warn(line);
  save_work_on_signals();
  return PlanRun(flags, session, loaded, machine, hosts).run();
}

}  // namespace

Run add_plan(CLI::App& app) {
  const auto flags = std::make_shared<Flags>();
  app.add_option("graph", flags->graph, "graph file of one replica's step")->required()->type_name("GRAPH.h5");
  add_text_flag(app, "-o,--output", flags->output, "the chosen plan: ranks, placement, step time", "PLAN.json");
  add_text_flag(app, "--placements", flags->placements, "write the placement of every split here, as RxK.h5; the plan then names its file (else it holds the placement)", "FOLDER");
  add_text_flag(app, "--bucket", flags->bucket, "gradients are reduced together up to this size (25MB)", "25MB");
  add_text_flag(app, "--devices-per-replica", flags->splits, "which K to try (all up to 16 devices, then those that divide the machine or a host)", "K,...");
  add_text_flag(app, "--hosts", flags->hosts, "the job's hosts in the order of the machine's, as NAME or NAME:DEVICES; counts are checked", "A,B,...");
  app.add_option("--preset", flags->preset, "fast, default or strong: how much work is spent on each placement (default)")->type_name("WORD");
  add_seed_flag(app, flags->seed, "seed of the placements (1)");
  add_policy_flag(app, flags->policy);
  add_machine_flags(app, flags->machine);
  add_session_flags(app, flags->session);
  app.footer("Gradients are the nodes that /nodes/gradient_of names.\n"
             "example: pardnn plan model.h5 --machine a100-2hosts-8x40gb --preset fast --placements plans -o plan.json");
  return [flags](const RunContext&) { return run(*flags); };
}

}  // namespace pardnn::cli
