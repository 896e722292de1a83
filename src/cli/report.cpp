#include "cli/report.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "cli/text_table.hpp"
#include "pardnn/error.hpp"

namespace pardnn::cli {

namespace {

/// Devices shown at most; the others are counted.
constexpr std::size_t kDeviceRows = 32;

using Rows = std::vector<std::vector<std::string>>;

std::string ratio_text(const Outcome& outcome) {
  return outcome.evaluation.lower_bound == 0 ? "-" : fmt::format("{:.3f}", outcome.ratio());
}

std::string percent_of(Nanoseconds part, Nanoseconds whole) {
  return whole == 0 ? "-" : fmt::format("{:.1f} %", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string device_table(const Evaluation& evaluation) {
  Rows rows{{"device", "nodes", "busy", "peak", "usable", "overflow"}};
  for (std::size_t d = 0; d < std::min(evaluation.devices.size(), kDeviceRows); ++d) {
    const DeviceReport& device = evaluation.devices[d];
    rows.push_back({printable(device.name, 40), grouped(device.nodes), percent_of(device.busy, evaluation.makespan), format_bytes(device.peak),
                    format_bytes(device.usable), device.overflow == 0 ? "-" : format_bytes(device.overflow)});
  }
  std::string text = text_table(rows);
  if (evaluation.devices.size() > kDeviceRows) text += fmt::format("  ... and {} more devices\n", evaluation.devices.size() - kDeviceRows);
  return text;
}

std::string misfit_text(const Outcome& outcome) {
  std::string text = fmt::format("feasible     no: {} over the usable memory in all\n", format_bytes(outcome.evaluation.total_overflow()));
  if (outcome.cannot_fit) text += fmt::format("proven       no placement fits: {}\n", printable(outcome.proof, 400));
  if (outcome.capacity_needed > 0) text += fmt::format("would fit    with {} on each device\n", format_bytes(outcome.capacity_needed));
  if (outcome.capacity_bound > 0) text += fmt::format("proven       nothing fits with less than {} on each device\n", format_bytes(outcome.capacity_bound));
  return text;
}

std::string verdict_text(const Outcome& outcome) {
  const Evaluation& evaluation = outcome.evaluation;
  if (!evaluation.broken.empty()) return fmt::format("feasible     no: it breaks the rules of {}\n", fmt::join(evaluation.broken, ", "));
  return evaluation.feasible ? "feasible     yes\n" : misfit_text(outcome);
}

std::string bounds_text(const Outcome& outcome) {
  const Evaluation& evaluation = outcome.evaluation;
  std::string text = fmt::format("makespan     {} ({} ns), {} x the lower bound\n", format_time(evaluation.makespan), grouped(evaluation.makespan), ratio_text(outcome));
  text += fmt::format("lower bound  {} ({} ns)\n", format_time(evaluation.lower_bound), grouped(evaluation.lower_bound));
  if (evaluation.best_bound > evaluation.lower_bound) {
    text += fmt::format("best bound   {} ({} ns)\n", format_time(evaluation.best_bound), grouped(evaluation.best_bound));
  }
  return text;
}

std::string method_text(const Outcome& outcome) {
  std::string text = fmt::format("method       {}", printable(outcome.method));
  if (outcome.preset) text += fmt::format(", preset {}", *outcome.preset);
  if (outcome.seed) text += outcome.seeds > 1 ? fmt::format(", {} seeds from {}", outcome.seeds, *outcome.seed) : fmt::format(", seed {}", *outcome.seed);
  if (outcome.ranks > 1) text += fmt::format(", {} ranks", outcome.ranks);
  return text + fmt::format(", policy {}, {} thread{}\n", word_for(outcome.policy), outcome.threads, outcome.threads == 1 ? "" : "s");
}

}  // namespace

std::string grouped(std::int64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const bool starts_group = i > 0 && digits[i - 1] != '-' && (digits.size() - i) % 3 == 0;
    if (starts_group) text += ',';
    text += digits[i];
  }
  return text;
}

std::string summary_text(const LoadedGraph& loaded, const Machine& machine, const Outcome& outcome) {
  const Graph& graph = loaded.graph;
  const std::string name = graph.name().empty() ? loaded.file : graph.name();
  std::string text = fmt::format("graph        {}: {} nodes, {} edges\n", printable(name), grouped(graph.num_nodes()), grouped(graph.num_edges()));
  text += fmt::format("machine      {}, links {}, headroom {}\n", printable(machine.name), word_for(outcome.links), decimal(machine.headroom));
  text += method_text(outcome) + bounds_text(outcome);
  text += fmt::format("cut          {} edges, {}\n", grouped(outcome.evaluation.cut_edges), format_bytes(outcome.evaluation.cut_bytes));
  return text + verdict_text(outcome) + device_table(outcome.evaluation);
}

std::string stage_text(const std::vector<StageTime>& stages, double elapsed_seconds) {
  Rows rows{{"stage", "seconds", "percent"}};
  const auto row = [&](const std::string& name, double seconds) {
    rows.push_back({printable(name, 30), fmt::format("{:.3f}", seconds), fmt::format("{:.1f}", elapsed_seconds > 0 ? 100 * seconds / elapsed_seconds : 0)});
  };
  for (const StageTime& stage : stages) row(stage.name, stage.seconds);
  row("total", elapsed_seconds);
  return text_table(rows);
}

std::string comparison_text(const std::vector<Outcome>& outcomes, std::size_t best) {
  Rows rows{{"", "method", "makespan", "ratio", "greatest peak", "fits", "cut edges", "cut", "seconds"}};
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    const Outcome& outcome = outcomes[i];
    const Evaluation& evaluation = outcome.evaluation;
    rows.push_back({i == best ? "*" : "", outcome.method, format_time(evaluation.makespan), ratio_text(outcome), format_bytes(evaluation.greatest_peak()),
                    evaluation.feasible ? "yes" : "no", grouped(evaluation.cut_edges), format_bytes(evaluation.cut_bytes),
                    fmt::format("{:.3f}", outcome.elapsed_seconds)});
  }
  return text_table(rows, 2);
}

}  // namespace pardnn::cli
