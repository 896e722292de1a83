#include "plan/slices.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace pardnn {

namespace {

std::size_t at(DeviceId d) { return static_cast<std::size_t>(d); }

/// Hosts in the order in which the machine names them first.
std::vector<int> hosts_in_order(const Machine& machine) {
  std::vector<int> hosts, seen;
  for (const Device& device : machine.devices) {
    const auto place = std::lower_bound(seen.begin(), seen.end(), device.host);
    if (place != seen.end() && *place == device.host) continue;
    seen.insert(place, device.host);
    hosts.push_back(device.host);
  }
  return hosts;
}

/// Where each host begins in `devices`, and their number at the end.
std::vector<std::size_t> host_offsets(const Machine& machine, std::span<const DeviceId> devices) {
  std::vector<std::size_t> offsets;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (i == 0 || machine.devices[at(devices[i])].host != machine.devices[at(devices[i - 1])].host) offsets.push_back(i);
  }
  offsets.push_back(devices.size());
  return offsets;
}

bool links_are_alike(const Machine& machine, std::span<const DeviceId> a, std::span<const DeviceId> b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < a.size(); ++j) {
      if (i == j) continue;
      const std::size_t one = machine.link(a[i], a[j]), other = machine.link(b[i], b[j]);
      if (machine.latency[one] != machine.latency[other] || machine.bandwidth[one] != machine.bandwidth[other]) return false;
    }
  }
  return true;
}

}  // namespace

std::vector<DeviceId> devices_by_host(const Machine& machine) {
  const std::vector<int> hosts = hosts_in_order(machine);
  std::vector<std::pair<int, std::size_t>> rank(hosts.size());  // (host, its place), sorted by host
  for (std::size_t i = 0; i < hosts.size(); ++i) rank[i] = {hosts[i], i};
  std::sort(rank.begin(), rank.end());
  const auto place = [&](DeviceId d) { return std::lower_bound(rank.begin(), rank.end(), std::pair{machine.devices[at(d)].host, std::size_t{0}})->second; };
  std::vector<DeviceId> devices(machine.devices.size());
  for (std::size_t d = 0; d < devices.size(); ++d) devices[d] = static_cast<DeviceId>(d);
  std::stable_sort(devices.begin(), devices.end(), [&](DeviceId a, DeviceId b) { return place(a) < place(b); });
  return devices;
}

std::vector<Slice> slices_of(const Machine& machine, DeviceId devices) {
  const std::vector<DeviceId> order = devices_by_host(machine);
  const std::vector<std::size_t> offsets = host_offsets(machine, order);
  const std::size_t size = at(devices);
  bool fits_a_host = false;
  for (std::size_t h = 0; h + 1 < offsets.size(); ++h) fits_a_host = fits_a_host || offsets[h + 1] - offsets[h] >= size;
  std::vector<Slice> slices;
  const auto cut = [&](std::size_t first, std::size_t last) {
    for (; last - first >= size; first += size) {
      slices.emplace_back(order.begin() + static_cast<std::ptrdiff_t>(first), order.begin() + static_cast<std::ptrdiff_t>(first + size));
    }
  };
  if (!fits_a_host) {
    cut(0, order.size());
    return slices;
  }
  for (std::size_t h = 0; h + 1 < offsets.size(); ++h) cut(offsets[h], offsets[h + 1]);
  return slices;
}

std::vector<int> replicas_at_host_borders(const Machine& machine, std::span<const Slice> slices) {
  std::vector<int> counts;
  int borders = 0, next = 1;
  for (std::size_t r = 1; r <= slices.size(); ++r) {
    const bool is_last = r == slices.size();
    if (!is_last && machine.devices[at(slices[r].front())].host == machine.devices[at(slices[r - 1].back())].host) continue;
    if (++borders < next && !is_last) continue;
    next *= 2;
    counts.push_back(static_cast<int>(r));
  }
  return counts;
}

Machine sub_machine(const Machine& machine, std::span<const DeviceId> slice) {
  Machine part;
  part.name = slice.size() == machine.devices.size() ? machine.name : fmt::format("{} of the {} devices of {}", slice.size(), machine.devices.size(), machine.name);
  part.headroom = machine.headroom;
  part.links = machine.links;
  for (const DeviceId d : slice) part.devices.push_back(machine.devices[at(d)]);
  for (const DeviceId p : slice) {
    for (const DeviceId q : slice) {
      part.latency.push_back(p == q ? 0 : machine.latency[machine.link(p, q)]);
      part.bandwidth.push_back(p == q ? 0 : machine.bandwidth[machine.link(p, q)]);
    }
  }
  return part;
}

bool are_alike(const Machine& machine, std::span<const DeviceId> a, std::span<const DeviceId> b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const Device &one = machine.devices[at(a[i])], &other = machine.devices[at(b[i])];
    if (one.capacity != other.capacity || one.speed != other.speed) return false;
  }
  return links_are_alike(machine, a, b);
}

std::vector<int> slice_kinds(const Machine& machine, std::span<const Slice> slices) {
  std::vector<int> kinds, first;
  for (std::size_t r = 0; r < slices.size(); ++r) {
    std::size_t kind = 0;
    while (kind < first.size() && !are_alike(machine, slices[static_cast<std::size_t>(first[kind])], slices[r])) ++kind;
    if (kind == first.size()) first.push_back(static_cast<int>(r));
    kinds.push_back(first[kind]);
  }
  return kinds;
}

}  // namespace pardnn
