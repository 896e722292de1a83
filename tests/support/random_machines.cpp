#include "support/random_machines.hpp"

#include <algorithm>
#include <numeric>
#include <string>

namespace pardnn::test {
namespace {

/// Rates at which transfers of the random graphs take a few ns, some of them with a remainder.
constexpr BytesPerSecond kRates[] = {1'000'000'000, 700'000'000, 3'000'000'000, 333'333'333, 1'999'999'999, 250'000'000'000};
constexpr Millionths kSpeeds[] = {1'000'000, 500'000, 1'250'000, 333'333, 2'000'001, 700'000};

Nanoseconds random_latency(TestRandom& random) { return random.chance(25) ? 0 : random.below(8); }
BytesPerSecond random_rate(TestRandom& random) { return kRates[random.below(6)]; }

void set_links(TestRandom& random, MachineKind kind, Machine& machine) {
  const Nanoseconds near = random_latency(random), far = near + 1 + random.below(9);
  const BytesPerSecond fast = random_rate(random), slow = random_rate(random);
  for (DeviceId p = 0; p < machine.num_devices(); ++p) {
    for (DeviceId q = 0; q < machine.num_devices(); ++q) {
      if (p == q) continue;
      const bool apart = machine.devices[p].host != machine.devices[q].host;
      machine.latency[machine.link(p, q)] = kind == MachineKind::no_latency ? 0
                                            : kind == MachineKind::matrices ? random_latency(random)
                                            : apart                         ? far
                                                                            : near;
      machine.bandwidth[machine.link(p, q)] = kind == MachineKind::matrices ? random_rate(random) : apart ? slow : fast;
    }
  }
}

}  // namespace

Machine random_machine(TestRandom& random, MachineKind kind, DeviceId devices, Bytes memory, Links links) {
  Machine machine;
  machine.name = "random";
  machine.links = links;
  machine.headroom = random.chance(50) ? 0 : random.below(300'000);
  for (DeviceId d = 0; d < devices; ++d) {
    Device device;
    device.name = std::to_string(d).insert(0, 1, 'd');
    device.host = kind == MachineKind::two_hosts && d >= (devices + 1) / 2 ? 1 : 0;
    device.capacity = memory >= kUnlimited ? kUnlimited : 1 + memory / 2 + random.below(memory + 1);
    if (kind == MachineKind::speeds || (kind == MachineKind::matrices && random.chance(50))) device.speed = kSpeeds[random.below(6)];
    machine.devices.push_back(device);
  }
  machine.latency.assign(machine.devices.size() * machine.devices.size(), 0);
  machine.bandwidth.assign(machine.devices.size() * machine.devices.size(), 0);
  set_links(random, kind, machine);
  return machine;
}

std::vector<std::int64_t> tied_to(const GraphData& data) {
  const std::int64_t nodes = data.num_nodes();
  std::vector<std::int64_t> lowest(nodes);
  std::iota(lowest.begin(), lowest.end(), std::int64_t{0});
  bool changed = true;
  const auto tie = [&](std::int64_t a, std::int64_t b) {
    if (lowest[a] == lowest[b]) return;
    lowest[a] = lowest[b] = std::min(lowest[a], lowest[b]);
    changed = true;
  };
  while (changed) {
    changed = false;
    for (std::int64_t a = 0; a < nodes; ++a) {
      if (!data.alias.empty() && data.alias[a] >= 0) tie(a, data.alias[a]);
      for (std::int64_t b = 0; b < a; ++b) {
        if (!data.colocation.empty() && data.colocation[a] >= 0 && data.colocation[a] == data.colocation[b]) tie(a, b);
      }
    }
  }
  return lowest;
}

std::vector<DeviceId> random_placement(TestRandom& random, const GraphData& data, PlacementKind kind, DeviceId devices) {
  const std::int64_t nodes = data.num_nodes();
  std::vector<DeviceId> device(nodes, static_cast<DeviceId>(random.below(devices)));
  if (kind == PlacementKind::all_on_one) return device;
  for (DeviceId& d : device) d = static_cast<DeviceId>(random.below(devices));
  if (kind == PlacementKind::breaks_units) return device;
  const std::vector<std::int64_t> lowest = tied_to(data);
  for (std::int64_t n = 0; n < nodes; ++n) {
    if (!data.fixed.empty() && data.fixed[n] >= 0) device[lowest[n]] = static_cast<DeviceId>(data.fixed[n]);
  }
  for (std::int64_t n = 0; n < nodes; ++n) device[n] = device[lowest[n]];
  return device;
}

static RandomGraphOptions random_options(TestRandom& random, DeviceId devices) {
  RandomGraphOptions options;
  options.nodes = random.below(40);
  options.max_in_degree = static_cast<int>(1 + random.below(4));
  options.window = random.chance(30) ? 1 + random.below(6) : 0;
  options.outputs = random.chance(50);
  options.parallel_edges = random.chance(50) ? 5 : 30;
  options.devices = devices;
  if (random.chance(30)) options.max_comp = options.max_bytes = 2;  // many ties
  if (random.chance(15)) options.zero_comp = 70;
  if (random.chance(15)) options.control_edges = 70;
  if (random.chance(20)) options.colocated = options.pinned = 0;
  if (random.chance(20)) options.aliased = options.reference = 0;
  if (random.chance(20)) options.aliased = 40;
  if (random.chance(10)) return RandomGraphOptions::plain(options.nodes, options.window);
  return options;
}

RandomCase random_case(std::uint64_t seed) {
  TestRandom random(seed);
  RandomCase drawn;
  const DeviceId devices = static_cast<DeviceId>(1 + seed % 5);
  drawn.data = random_graph_data(seed, random_options(random, devices));
  const auto kind = static_cast<MachineKind>((seed / 5) % kMachineKinds);
  const Links links = random.chance(50) ? Links::free : Links::ports;
  drawn.machine = random_machine(random, kind, devices, random.chance(30) ? kUnlimited : 60 + random.below(400), links);
  drawn.device = random_placement(random, drawn.data, static_cast<PlacementKind>(random.below(kPlacementKinds)), devices);
  drawn.policy = random.chance(50) ? Policy::fifo : Policy::priority;
  if (random.chance(50)) {
    for (std::int64_t n = 0; n < drawn.data.num_nodes(); ++n) drawn.priority.push_back(random.below(random.chance(50) ? 4 : 1000) - 2);
  }
  return drawn;
}

}  // namespace pardnn::test
