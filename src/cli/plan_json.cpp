#include "cli/plan_json.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "cli/option_flags.hpp"

namespace pardnn::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json graph_json(const LoadedGraph& loaded) {
  const Graph& graph = loaded.graph;
  return {{"name", graph.name()}, {"nodes", graph.num_nodes()}, {"edges", graph.num_edges()}, {"fingerprint", graph.fingerprint()}};
}

/// The host of a machine device and the device's place there.
struct Seat {
  const PlanHost* host = nullptr;
  std::size_t local = 0;
};

std::vector<Seat> seats(const Machine& machine, const std::vector<PlanHost>& hosts) {
  std::vector<Seat> seats(machine.devices.size());
  for (const PlanHost& host : hosts) {
    for (std::size_t i = 0; i < host.devices.size(); ++i) seats[static_cast<std::size_t>(host.devices[i])] = {&host, i};
  }
  return seats;
}

Json name_or_null(const std::string& name) { return name.empty() ? Json(nullptr) : Json(name); }

Json ranks_json(const PlanSetting& setting, const PlanRow& row) {
  const std::vector<Seat> seat = seats(setting.machine, setting.hosts);
  Json ranks = Json::array();
  for (std::size_t r = 0; r < row.slices.size(); ++r) {
    for (std::size_t d = 0; d < row.slices[r].size(); ++d) {
      const DeviceId device = row.slices[r][d];
      const Seat& at = seat[static_cast<std::size_t>(device)];
      ranks.push_back({{"rank", ranks.size()},
                       {"replica", r},
                       {"device", d},
                       {"machine_device", device},
                       {"device_name", setting.machine.devices[static_cast<std::size_t>(device)].name},
                       {"host", at.host->id},
                       {"host_name", name_or_null(at.host->name)},
                       {"local_device", at.local}});
    }
  }
  return ranks;
}

/// Hosts in the machine's order with the number of ranks that run there, 0 where a host is not used.
Json hosts_json(const PlanSetting& setting, const PlanRow& row) {
  std::vector<char> used(setting.machine.devices.size(), 0);
  for (const Slice& slice : row.slices) {
    for (const DeviceId d : slice) used[static_cast<std::size_t>(d)] = 1;
  }
  Json hosts = Json::array();
  for (const PlanHost& host : setting.hosts) {
    const auto ranks = std::count_if(host.devices.begin(), host.devices.end(), [&](DeviceId d) { return used[static_cast<std::size_t>(d)] != 0; });
    hosts.push_back({{"host", host.id}, {"name", name_or_null(host.name)}, {"devices", host.devices.size()}, {"ranks", ranks}});
  }
  return hosts;
}

Json devices_json(const PlanRow& row) {
  Json devices = Json::array();
  for (std::size_t d = 0; d < row.step.peak.size(); ++d) {
    devices.push_back({{"device", d}, {"peak_bytes", row.step.peak[d]}, {"overflow_bytes", row.step.overflow[d]}});
  }
  return devices;
}

Json row_json(const PlanSetting& setting, const PlanRow& row) {
  return {{"replicas", row.replicas},
          {"devices_per_replica", row.devices},
          {"devices_used", row.replicas * row.devices},
          {"samples_per_second", row.samples_per_second(setting.loaded.graph.samples_per_step())},
          {"step_ns", row.step.time},
          {"step_alone_ns", row.step.time_alone},
          {"greatest_reduction_ns", row.step.greatest_reduction},
          {"buckets", row.step.buckets},
          {"reduced_bytes", row.step.reduced_bytes},
          {"feasible", row.fits},
          {"cannot_fit", row.cannot_fit},
          {"distinct_slices", row.distinct_slices},
          {"method", row.method},
          {"devices", devices_json(row)}};
}

Json setting_json(const PlanSetting& setting) {
  return {{"policy", word_for(setting.policy)},
          {"links", word_for(setting.machine.links)},
          {"headroom", decimal(setting.machine.headroom)},
          {"bucket_bytes", setting.bucket_bytes},
          {"samples_per_step", setting.loaded.graph.samples_per_step()}};
}

}  // namespace

std::string plan_json(const PlanSetting& setting, const PlanRow& row, const std::string& file, const InlinePlacement& placement) {
  Json json{{"format", "pardnn-plan"}, {"version", 1}, {"graph", graph_json(setting.loaded)}, {"machine", Json::parse(machine_json(setting.machine))}};
  json.update(setting_json(setting));
  json.update(row_json(setting, row));
  json["hosts"] = hosts_json(setting, row);
  json["ranks"] = ranks_json(setting, row);
  if (!file.empty()) {
    json["placement"] = file;
  } else {
    json["placement"] = placement.device;
    json["order"] = placement.order;
  }
  return text_of(json);
}

std::string plans_json(const PlanSetting& setting, const std::vector<PlanRow>& rows, std::size_t chosen, const std::vector<std::string>& warnings,
                       const std::string& stopped_by, double elapsed_seconds) {
  Json json{{"format", "pardnn-plans"},
            {"version", 1},
            {"graph", graph_json(setting.loaded)},
            {"machine", {{"name", setting.machine.name}, {"devices", setting.machine.num_devices()}}}};
  json.update(setting_json(setting));
  json["rows"] = Json::array();
  for (const PlanRow& row : rows) json["rows"].push_back(row_json(setting, row));
  json["chosen"] = chosen;
  json["warnings"] = warnings;
  json["stopped_by"] = stopped_by.empty() ? Json(nullptr) : Json(stopped_by);
  json["elapsed_s"] = elapsed_seconds;
  return text_of(json);
}

}  // namespace pardnn::cli
