#include "construct/device_classes.hpp"

namespace pardnn {
namespace {

bool same_link(const Machine& m, DeviceId p, DeviceId q, DeviceId r, DeviceId s) {
  return m.latency[m.link(p, q)] == m.latency[m.link(r, s)] && m.bandwidth[m.link(p, q)] == m.bandwidth[m.link(r, s)];
}

bool alike(const Machine& m, DeviceId a, DeviceId b) {
  if (m.devices[a].speed != m.devices[b].speed || !same_link(m, a, b, b, a)) return false;
  for (DeviceId p = 0; p < m.num_devices(); ++p) {
    if (p != a && p != b && !same_link(m, p, a, p, b)) return false;
  }
  return true;
}

}  // namespace

DeviceClasses device_classes(const Machine& machine, std::span<const DeviceId> devices) {
  DeviceClasses classes;
  classes.of.assign(machine.devices.size(), -1);
  for (const DeviceId d : devices) {
    std::int32_t found = -1;
    for (std::size_t c = 0; c < classes.members.size() && found < 0; ++c) {
      if (alike(machine, classes.members[c].front(), d)) found = static_cast<std::int32_t>(c);
    }
    if (found < 0) {
      found = static_cast<std::int32_t>(classes.members.size());
      classes.members.emplace_back();
    }
    classes.of[d] = found;
    classes.members[found].push_back(d);
  }
  return classes;
}

}  // namespace pardnn
