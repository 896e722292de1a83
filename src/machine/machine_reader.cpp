#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <optional>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/json_check.hpp"
#include "core/nearest.hpp"
#include "machine/machine_limits.hpp"
#include "machine/shipped_machines.hpp"
#include "pardnn/error.hpp"
#include "pardnn/machine.hpp"

namespace pardnn {

namespace {

using Json = nlohmann::json;

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 29;

/// A value of the file and the way to it, for errors: "devices[1].memory".
struct Place {
  const Json& value;
  std::string path;

  Place at(const std::string& key) const { return {value.at(key), path.empty() ? key : path + "." + key}; }
  Place at(std::size_t index) const { return {value.at(index), fmt::format("{}[{}]", path, index)}; }
  bool has(const std::string& key) const { return value.contains(key); }
  InputError refuse(std::string_view why) const { return InputError(fmt::format("{}: {}", path.empty() ? "the document" : path, why)); }
};

void check_keys(const Place& place, std::span<const std::string_view> known) {
  if (!place.value.is_object()) throw place.refuse("expected an object {...}");
  for (const auto& entry : place.value.items()) {
    if (std::find(known.begin(), known.end(), entry.key()) != known.end()) continue;
    throw place.refuse(fmt::format("unknown key '{}'; did you mean '{}'? known: {}", printable(entry.key(), 40),
                                   nearest(entry.key(), known), listed(known)));
  }
}

std::string text(const Place& place) {
  if (!place.value.is_string()) throw place.refuse("expected a string");
  return place.value.get<std::string>();
}

std::int64_t whole_number(const Place& place, std::int64_t least, std::int64_t greatest) {
  const bool fits = place.value.is_number_unsigned() ? place.value.get<std::uint64_t>() <= static_cast<std::uint64_t>(INT64_MAX) : true;
  if (!place.value.is_number_integer() || !fits) throw place.refuse(fmt::format("expected a whole number from {} to {}", least, greatest));
  const auto number = place.value.get<std::int64_t>();
  if (number < least || number > greatest) throw place.refuse(fmt::format("{} is not from {} to {}", number, least, greatest));
  return number;
}

/// A whole number of base units, or a string with a unit that `parse` understands.
std::int64_t quantity(const Place& place, std::int64_t (*parse)(std::string_view), std::string_view what) {
  if (place.value.is_number_integer()) return whole_number(place, 0, kSumLimit);
  if (!place.value.is_string()) throw place.refuse(fmt::format("expected {}: a whole number, or a string with a unit", what));
  try {
    return parse(place.value.get_ref<const std::string&>());
  } catch (const InputError& error) {
    throw place.refuse(error.what());
  }
}

/// The shortest decimal that reads back as the same double: what the file says, up to 15 digits.
Millionths speed_of(const Place& place) {
  if (!place.value.is_number()) throw place.refuse("expected a number such as 1.25");
  std::array<char, 512> digits{};
  const auto end = place.value.is_number_float()
                       ? std::to_chars(digits.data(), digits.data() + digits.size(), place.value.get<double>(), std::chars_format::fixed)
                       : std::to_chars(digits.data(), digits.data() + digits.size(), whole_number(place, 0, kMaxSpeed / kOne));
  try {
    return parse_millionths({digits.data(), static_cast<std::size_t>(end.ptr - digits.data())});
  } catch (const InputError& error) {
    throw place.refuse(error.what());
  }
}

/// `pattern` with each {i} replaced by `index`.
std::string device_name(std::string pattern, std::size_t index) {
  const std::string number = std::to_string(index);
  for (std::size_t at = pattern.find("{i}"); at != std::string::npos; at = pattern.find("{i}", at + number.size())) {
    pattern.replace(at, 3, number);
  }
  return pattern;
}

void add_devices(Machine& machine, const Place& place) {
  constexpr std::array<std::string_view, 6> known{"count", "host", "memory", "speed", "name", "comment"};
  check_keys(place, known);
  const std::int64_t count = place.has("count") ? whole_number(place.at("count"), 1, kMaxDevices) : 1;
  Device device;
  if (place.has("host")) device.host = static_cast<int>(whole_number(place.at("host"), 0, INT32_MAX));
  if (place.has("memory")) device.capacity = quantity(place.at("memory"), parse_bytes, "memory in bytes");
  if (place.has("speed")) device.speed = speed_of(place.at("speed"));
  const std::string pattern = place.has("name") ? text(place.at("name")) : "gpu{i}";
  for (std::int64_t i = 0; i < count; ++i) {
    device.name = device_name(pattern, machine.devices.size());
    machine.devices.push_back(device);
  }
}

struct Link {
  Nanoseconds latency = 0;
  BytesPerSecond bandwidth = 0;
};

Link link_of(const Place& place) {
  constexpr std::array<std::string_view, 3> known{"latency", "bandwidth", "comment"};
  check_keys(place, known);
  for (const char* key : {"latency", "bandwidth"}) {
    if (!place.has(key)) throw place.refuse(fmt::format("'{}' is missing", key));
  }
  return {quantity(place.at("latency"), parse_time, "a time in ns"),
          quantity(place.at("bandwidth"), parse_bandwidth, "a bandwidth in bytes per second")};
}

void set_links_by_host(Machine& machine, const Place& links) {
  std::optional<Link> by_host[2];
  const char* keys[2] = {"cross_host", "same_host"};
  for (int same = 0; same < 2; ++same) {
    if (links.has(keys[same])) by_host[same] = link_of(links.at(keys[same]));
  }
  for (DeviceId p = 0; p < machine.num_devices(); ++p) {
    for (DeviceId q = 0; q < machine.num_devices(); ++q) {
      if (p == q) continue;
      const int same = machine.devices[static_cast<std::size_t>(p)].host == machine.devices[static_cast<std::size_t>(q)].host ? 1 : 0;
      if (!by_host[same]) throw links.refuse(fmt::format("'{}' is missing, and devices {} and {} need it", keys[same], p, q));
      machine.latency[machine.link(p, q)] = by_host[same]->latency;
      machine.bandwidth[machine.link(p, q)] = by_host[same]->bandwidth;
    }
  }
}

void set_matrix(const Machine& machine, const Place& rows, std::int64_t (*parse)(std::string_view), std::string_view what,
                std::vector<std::int64_t>& values) {
  const std::size_t devices = machine.devices.size();
  const auto check_length = [&](const Place& place) {
    if (!place.value.is_array() || place.value.size() != devices) {
      throw place.refuse(fmt::format("expected a list of {} entries, one for each device{}", devices,
                                     place.value.is_array() ? fmt::format(", not {}", place.value.size()) : ""));
    }
  };
  check_length(rows);
  for (std::size_t p = 0; p < devices; ++p) {
    const Place row = rows.at(p);
    check_length(row);
    for (std::size_t q = 0; q < devices; ++q) {
      if (p != q) values[p * devices + q] = quantity(row.at(q), parse, what);
    }
  }
}

void set_links(Machine& machine, const Place& links) {
  constexpr std::array<std::string_view, 5> known{"same_host", "cross_host", "latency_ns", "bandwidth_bytes_per_s", "comment"};
  check_keys(links, known);
  const bool has_matrix = links.has("latency_ns") || links.has("bandwidth_bytes_per_s");
  if (!has_matrix) return set_links_by_host(machine, links);
  if (links.has("same_host") || links.has("cross_host")) {
    throw links.refuse("give either same_host and cross_host, or the matrices latency_ns and bandwidth_bytes_per_s, not both");
  }
  for (const char* key : {"latency_ns", "bandwidth_bytes_per_s"}) {
    if (!links.has(key)) throw links.refuse(fmt::format("'{}' is missing", key));
  }
  set_matrix(machine, links.at("latency_ns"), parse_time, "a time in ns", machine.latency);
  set_matrix(machine, links.at("bandwidth_bytes_per_s"), parse_bandwidth, "a bandwidth in bytes per second", machine.bandwidth);
}

Machine machine_of(const Place& document) {
  constexpr std::array<std::string_view, 4> known{"name", "devices", "links", "comment"};
  check_keys(document, known);
  Machine machine;
  if (document.has("name")) machine.name = text(document.at("name"));
  if (!document.has("devices")) throw document.refuse("'devices' is missing");
  const Place devices = document.at("devices");
  if (!devices.value.is_array() || devices.value.empty()) throw devices.refuse("expected a list of devices");
  for (std::size_t i = 0; i < devices.value.size(); ++i) {
    add_devices(machine, devices.at(i));
    if (machine.num_devices() > kMaxDevices) throw devices.refuse(fmt::format("more than {} devices", kMaxDevices));
  }
  const std::size_t entries = machine.devices.size() * machine.devices.size();
  machine.latency.assign(entries, 0);
  machine.bandwidth.assign(entries, 0);
  if (document.has("links")) {
    set_links(machine, document.at("links"));
  } else if (machine.num_devices() > 1) {
    throw document.refuse("'links' is missing");
  }
  check_machine(machine);
  return machine;
}

/// All of it, in one pass: a pipe can be read once only.
std::string read_text(std::istream& stream, const std::string& file) {
  std::string content;
  std::array<char, 1 << 16> block{};
  while (stream.read(block.data(), block.size()) || stream.gcount() > 0) {
    content.append(block.data(), static_cast<std::size_t>(stream.gcount()));
    if (content.size() > kMaxFileBytes) throw InputError(fmt::format("{}: larger than 512 MiB: not a machine file", printable(file)));
  }
  return content;
}

InputError no_such_machine(const std::string& name) {
  std::vector<std::string_view> names;
  for (const ShippedMachine& machine : shipped_machines()) names.push_back(machine.name);
  return InputError(fmt::format("machine '{}': no such file, and no shipped machine of that name; did you mean '{}'? shipped: {}",
                                printable(name), nearest(name, names), listed(names)));
}

}  // namespace

Machine parse_machine(const std::string& json_text, const std::string& origin) {
  try {
    if (const std::string fault = check_json(json_text); !fault.empty()) throw InputError(fault);
    const Json document = Json::parse(json_text);
    return machine_of({document, ""});
  } catch (const InputError& error) {
    throw InputError(fmt::format("machine {}: {}", printable(origin), error.what()));
  }
}

Machine read_machine(const std::string& file_or_name) {
  for (const ShippedMachine& machine : shipped_machines()) {
    if (machine.name == file_or_name) return parse_machine(std::string(machine.json), file_or_name);
  }
  std::ifstream stream(file_or_name, std::ios::binary);
  if (!stream.is_open()) throw no_such_machine(file_or_name);
  const std::string content = read_text(stream, file_or_name);
  if (content.empty()) throw InputError(fmt::format("machine {}: empty, or not a file", printable(file_or_name)));
  return parse_machine(content, file_or_name);
}

}  // namespace pardnn
