#include "pardnn/machine.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "machine/machine_limits.hpp"
#include "pardnn/error.hpp"

namespace pardnn {

namespace {

void check_device(const Device& device, std::size_t index) {
  const auto refuse = [&](std::string_view why) { return InputError(fmt::format("device {} '{}': {}", index, printable(device.name), why)); };
  if (device.name.empty()) throw refuse("its name is empty");
  if (device.capacity <= 0) throw refuse("its memory must be more than 0 bytes");
  if (device.capacity > kUnlimited) throw refuse("its memory must stay below 2^62 bytes");
  if (device.speed <= 0 || device.speed > kMaxSpeed) throw refuse("its speed must be more than 0 and at most 1000000");
}

void check_names(const Machine& machine) {
  std::vector<std::string_view> names;
  for (const Device& device : machine.devices) names.push_back(device.name);
  std::sort(names.begin(), names.end());
  const auto twin = std::adjacent_find(names.begin(), names.end());
  if (twin != names.end()) throw InputError(fmt::format("two devices are named '{}'", printable(*twin)));
}

void check_links(const Machine& machine) {
  const std::size_t entries = machine.devices.size() * machine.devices.size();
  if (machine.latency.size() != entries || machine.bandwidth.size() != entries) {
    throw InputError(fmt::format("{} devices need {} x {} links", machine.devices.size(), machine.devices.size(), machine.devices.size()));
  }
  for (DeviceId p = 0; p < machine.num_devices(); ++p) {
    for (DeviceId q = 0; q < machine.num_devices(); ++q) {
      const std::size_t link = machine.link(p, q);
      if (p == q) continue;
      if (machine.latency[link] < 0 || machine.latency[link] >= kSumLimit) {
        throw InputError(fmt::format("link from device {} to {}: its latency must be 0 or more and below 2^62 ns", p, q));
      }
      if (machine.bandwidth[link] <= 0) {
        throw InputError(fmt::format("link from device {} to {}: its bandwidth must be at least one byte per second", p, q));
      }
    }
  }
}

}  // namespace

void check_machine(const Machine& machine) {
  const std::size_t devices = machine.devices.size();
  if (devices == 0 || devices > static_cast<std::size_t>(kMaxDevices)) {
    throw InputError(fmt::format("{} devices; a machine has 1 to {}", devices, kMaxDevices));
  }
  for (std::size_t i = 0; i < devices; ++i) check_device(machine.devices[i], i);
  check_names(machine);
  check_links(machine);
  if (machine.headroom < 0 || machine.headroom >= kOne) throw InputError("headroom must be 0 or more and less than 1");
}

Bytes Machine::usable(DeviceId p) const {
  const Bytes capacity = devices[static_cast<std::size_t>(p)].capacity;
  if (capacity >= kUnlimited) return kUnlimited;
  __extension__ using Wide = unsigned __int128;
  return static_cast<Bytes>(Wide(capacity) * Wide(kOne - headroom) / Wide(kOne));
}

Millionths Machine::fastest_speed() const {
  Millionths fastest = 0;
  for (const Device& device : devices) fastest = std::max(fastest, device.speed);
  return fastest;
}

Millionths Machine::total_speed() const {
  Millionths total = 0;
  for (const Device& device : devices) total += device.speed;
  return total;
}

Machine homogeneous_machine(DeviceId devices, Bytes memory, BytesPerSecond bandwidth, Nanoseconds latency) {
  if (devices < 1 || devices > kMaxDevices) throw InputError(fmt::format("{} devices; a machine has 1 to {}", devices, kMaxDevices));
  Machine machine;
  machine.name = fmt::format("{} equal devices", devices);
  for (DeviceId d = 0; d < devices; ++d) machine.devices.push_back({fmt::format("gpu{}", d), memory, kOne, 0});
  const std::size_t entries = machine.devices.size() * machine.devices.size();
  machine.latency.assign(entries, latency);
  machine.bandwidth.assign(entries, bandwidth);
  for (DeviceId d = 0; d < devices; ++d) {
    machine.latency[machine.link(d, d)] = 0;
    machine.bandwidth[machine.link(d, d)] = 0;
  }
  check_machine(machine);
  return machine;
}

}  // namespace pardnn
