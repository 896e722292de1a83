#include "cli/result_json.hpp"

#include <nlohmann/json.hpp>

namespace pardnn::cli {

namespace {

using Json = nlohmann::ordered_json;

Json graph_json(const LoadedGraph& loaded) {
  const Graph& graph = loaded.graph;
  return {{"name", graph.name()}, {"nodes", graph.num_nodes()}, {"edges", graph.num_edges()}, {"fingerprint", graph.fingerprint()}};
}

Json machine_summary(const Machine& machine) {
  return {{"name", machine.name}, {"devices", machine.num_devices()}, {"headroom", static_cast<double>(machine.headroom) / static_cast<double>(kOne)}};
}

Json device_json(const DeviceReport& device) {
  return {{"name", device.name},
          {"capacity_bytes", device.capacity},
          {"usable_bytes", device.usable},
          {"peak_bytes", device.peak},
          {"overflow_bytes", device.overflow},
          {"busy_ns", device.busy},
          {"nodes", device.nodes},
          {"unlimited", device.capacity >= kUnlimited},
          {"parameter_free", device.parameter_free}};
}

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

void add_verdict(Json& json, const Outcome& outcome) {
  const Evaluation& evaluation = outcome.evaluation;
  json["makespan_ns"] = evaluation.makespan;
  json["lower_bound_ns"] = evaluation.lower_bound;
  json["best_bound_ns"] = evaluation.best_bound;
  json["ratio"] = outcome.ratio();
  json["feasible"] = evaluation.feasible;
  json["broken"] = evaluation.broken;
  json["devices"] = Json::array();
  for (const DeviceReport& device : evaluation.devices) json["devices"].push_back(device_json(device));
  json["empty_devices"] = outcome.empty_devices();
  json["cut_edges"] = evaluation.cut_edges;
  json["cut_bytes"] = evaluation.cut_bytes;
  json["capacity_needed_bytes"] = outcome.capacity_needed;
  json["cannot_fit"] = outcome.cannot_fit;
  json["proof"] = outcome.proof;
  json["capacity_bound_bytes"] = outcome.capacity_bound;
}

Json stages_json(const std::vector<StageTime>& stages) {
  Json list = Json::array();
  for (const StageTime& stage : stages) list.push_back({{"name", stage.name}, {"seconds", stage.seconds}});
  return list;
}

Json outcome_json(const LoadedGraph& loaded, const Machine& machine, const Outcome& outcome) {
  Json json{{"format", "pardnn-result"}, {"version", 1}, {"graph", graph_json(loaded)}, {"machine", machine_summary(machine)}};
  json["method"] = outcome.method;
  json["policy"] = word_for(outcome.policy);
  json["links"] = word_for(outcome.links);
  json["preset"] = or_null(outcome.preset);
  json["seed"] = or_null(outcome.seed);
  json["seeds"] = outcome.seeds;
  json["best_seed"] = or_null(outcome.best_seed);
  json["ranks"] = outcome.ranks;
  json["threads"] = outcome.threads;
  add_verdict(json, outcome);
  json["warnings"] = outcome.warnings;
  json["stopped_by"] = outcome.stopped_by.empty() ? Json(nullptr) : Json(outcome.stopped_by);
  json["unfinished"] = outcome.unfinished;
  json["stages"] = stages_json(outcome.stages);
  json["elapsed_s"] = outcome.elapsed_seconds;
  json["peak_rss_bytes"] = peak_resident_bytes();
  return json;
}

/// Names come from files: what is no UTF-8 is replaced.
std::string text_of(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace); }

}  // namespace

std::string result_json(const LoadedGraph& loaded, const Machine& machine, const Outcome& outcome) {
  return text_of(outcome_json(loaded, machine, outcome));
}

std::string comparison_json(const LoadedGraph& loaded, const Machine& machine, const std::vector<Outcome>& outcomes, std::size_t best,
                            const std::vector<std::string>& warnings, double elapsed_seconds) {
  Json json{{"format", "pardnn-result"}, {"version", 1}, {"graph", graph_json(loaded)}, {"machine", machine_summary(machine)}};
  json["methods"] = Json::array();
  for (const Outcome& outcome : outcomes) json["methods"].push_back(outcome_json(loaded, machine, outcome));
  json["best"] = outcomes.empty() ? Json(nullptr) : Json(outcomes[best].method);
  json["warnings"] = warnings;
  json["elapsed_s"] = elapsed_seconds;
  json["peak_rss_bytes"] = peak_resident_bytes();
  return text_of(json);
}

}  // namespace pardnn::cli
