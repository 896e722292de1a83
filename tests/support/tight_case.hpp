/// Small graphs whose memory is tight, small enough for every placement to be tried.
#pragma once

#include <vector>

#include "support/random_machines.hpp"

namespace pardnn::test {

/// At most `nodes` nodes on 2 or 3 devices that hold about half of everything each: some cases cannot be solved, most of
/// the others only just.
struct TightCase {
  TightCase(std::uint64_t seed, std::int64_t nodes) {
    TestRandom random(seed);
    const DeviceId devices = static_cast<DeviceId>(2 + seed % 2);
    RandomGraphOptions options;
    options.nodes = 1 + random.below(nodes);
    options.devices = devices;
    options.outputs = random.chance(50);
    options.residual = 30;
    data = random_graph_data(seed, options);
    const auto kind = static_cast<MachineKind>(random.below(kMachineKinds));
    const Links links = random.chance(50) ? Links::free : Links::ports;
    Bytes all = 10;
    for (std::int64_t n = 0; n < data.num_nodes(); ++n) all += data.mem[n];
    machine = random_machine(random, kind, devices, all * (30 + random.below(50)) / 100, links);
    policy = random.chance(50) ? Policy::fifo : Policy::priority;
    device = random_placement(random, data, PlacementKind::respects_units, devices);
  }

  GraphData data;
  Machine machine;
  Policy policy = Policy::fifo;
  std::vector<DeviceId> device;  ///< a placement that respects units and pins, file order
};

}  // namespace pardnn::test
