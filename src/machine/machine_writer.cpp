#include <optional>

#include <nlohmann/json.hpp>

#include "pardnn/machine.hpp"

namespace pardnn {

namespace {

using Json = nlohmann::ordered_json;

/// The one link between all pairs on one host, or on two hosts.
struct Shared {
  std::optional<Nanoseconds> latency;
  BytesPerSecond bandwidth = 0;
  bool differs = false;

  void add(Nanoseconds link_latency, BytesPerSecond link_bandwidth) {
    if (!latency) {
      latency = link_latency;
      bandwidth = link_bandwidth;
    }
    differs = differs || *latency != link_latency || bandwidth != link_bandwidth;
  }
  Json json() const { return {{"latency", *latency}, {"bandwidth", bandwidth}}; }
};

Json matrix(const Machine& machine, const std::vector<std::int64_t>& values) {
  Json rows = Json::array();
  for (DeviceId p = 0; p < machine.num_devices(); ++p) {
    Json row = Json::array();
    for (DeviceId q = 0; q < machine.num_devices(); ++q) row.push_back(p == q ? 0 : values[machine.link(p, q)]);
    rows.push_back(std::move(row));
  }
  return rows;
}

/// By host where that says everything: K^2 numbers would not fit an HDF5 attribute for large K. O(K^2).
Json links_json(const Machine& machine) {
  Shared same_host, cross_host;
  for (DeviceId p = 0; p < machine.num_devices(); ++p) {
    for (DeviceId q = 0; q < machine.num_devices(); ++q) {
      if (p == q) continue;
      const bool same = machine.devices[static_cast<std::size_t>(p)].host == machine.devices[static_cast<std::size_t>(q)].host;
      (same ? same_host : cross_host).add(machine.latency[machine.link(p, q)], machine.bandwidth[machine.link(p, q)]);
    }
  }
  if (same_host.differs || cross_host.differs) {
    return {{"latency_ns", matrix(machine, machine.latency)}, {"bandwidth_bytes_per_s", matrix(machine, machine.bandwidth)}};
  }
  Json links = Json::object();
  if (same_host.latency) links["same_host"] = same_host.json();
  if (cross_host.latency) links["cross_host"] = cross_host.json();
  return links;
}

}  // namespace

std::string machine_json(const Machine& machine) {
  Json devices = Json::array();
  for (const Device& device : machine.devices) {
    devices.push_back({{"name", device.name},
                       {"host", device.host},
                       {"memory", device.capacity},
                       {"speed", static_cast<double>(device.speed) / static_cast<double>(kOne)}});
  }
  const Json all{{"name", machine.name}, {"devices", std::move(devices)}, {"links", links_json(machine)}};
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace pardnn
