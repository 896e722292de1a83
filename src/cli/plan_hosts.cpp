#include "cli/plan_hosts.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "pardnn/error.hpp"
#include "plan/slices.hpp"

namespace pardnn::cli {

namespace {

struct Named {
  std::string_view name;
  std::optional<std::size_t> devices;
};

InputError refuse(const std::string& why) { return InputError("--hosts: " + why); }

Named named_host(std::string_view word) {
  Named host{word, {}};
  if (const std::size_t colon = word.rfind(':'); colon != std::string_view::npos) {
    host.name = word.substr(0, colon);
    std::size_t devices = 0;
    const auto end = std::from_chars(word.data() + colon + 1, word.data() + word.size(), devices);
    if (end.ec != std::errc{} || end.ptr != word.data() + word.size()) {
      throw refuse(fmt::format("'{}': expected NAME or NAME:DEVICES", printable(word, 60)));
    }
    host.devices = devices;
  }
  if (host.name.empty()) throw refuse("a host has an empty name");
  if (host.name.find_first_of("[]") != std::string_view::npos) {
    throw refuse(fmt::format("'{}' is a list that is not expanded; 'scontrol show hostnames' does that", printable(word, 60)));
  }
  return host;
}

std::vector<Named> named_hosts(std::string_view text) {
  std::vector<Named> hosts;
  // A list that is not expanded has commas in its brackets: it is complained about whole.
  if (text.find('[') != std::string_view::npos) named_host(text);
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    more = comma != std::string_view::npos;
    const Named host = named_host(text.substr(0, comma));
    for (const Named& other : hosts) {
      if (other.name == host.name) throw refuse(fmt::format("'{}' is given twice", printable(host.name, 60)));
    }
    hosts.push_back(host);
    if (more) text.remove_prefix(comma + 1);
  }
  return hosts;
}

std::vector<PlanHost> machine_hosts(const Machine& machine) {
  std::vector<PlanHost> hosts;
  for (const DeviceId d : devices_by_host(machine)) {
    const int id = machine.devices[static_cast<std::size_t>(d)].host;
    if (hosts.empty() || hosts.back().id != id) hosts.push_back({id, "", {}});
    hosts.back().devices.push_back(d);
  }
  return hosts;
}

}  // namespace

std::vector<PlanHost> plan_hosts(const Machine& machine, const std::optional<std::string>& names) {
  std::vector<PlanHost> hosts = machine_hosts(machine);
  if (!names) return hosts;
  const std::vector<Named> named = named_hosts(*names);
  if (named.size() != hosts.size()) throw refuse(fmt::format("{} hosts, but the machine '{}' has {}", named.size(), printable(machine.name, 60), hosts.size()));
  for (std::size_t h = 0; h < hosts.size(); ++h) {
    hosts[h].name = named[h].name;
    if (!named[h].devices || *named[h].devices == hosts[h].devices.size()) continue;
    throw refuse(fmt::format("'{}' has {} devices, but host {} of the machine '{}' has {}", printable(named[h].name, 60), *named[h].devices, hosts[h].id,
                             printable(machine.name, 60), hosts[h].devices.size()));
  }
  return hosts;
}

}  // namespace pardnn::cli
