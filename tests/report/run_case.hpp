/// Random placed graphs for the tests of traces and reports.
#pragma once

#include <cstdint>
#include <string>

#include "pardnn/graph.hpp"
#include "pardnn/machine.hpp"
#include "pardnn/placement.hpp"
#include "report/emulated_run.hpp"
#include "support/random_graphs.hpp"

namespace pardnn::test {

struct RunCase {
  Graph graph;
  PackedNames names;
  Machine machine;
  Placement placement;
  Policy policy = Policy::fifo;

  EmulatedRun run() const { return EmulatedRun(graph, names, machine, placement, policy); }
};

/// A graph of `nodes` with every feature on three devices; any node anywhere that its ties allow.
inline RunCase random_run_case(std::uint64_t seed, std::int64_t nodes = 60) {
  RandomGraphOptions shape;
  shape.nodes = nodes;
  shape.devices = 3;
  shape.names = true;
  shape.outputs = seed % 2 == 0;
  GraphData data = random_graph_data(seed, shape);
  RunCase made;
  made.names = data.names;
  made.graph = Graph(std::move(data));
  made.machine = homogeneous_machine(3, 400, 1'000'000'000, 3);
  made.machine.links = seed % 3 == 0 ? Links::ports : Links::free;
  made.policy = seed % 4 < 2 ? Policy::fifo : Policy::priority;
  TestRandom random(seed);
  std::vector<DeviceId> device;
  for (UnitId u = 0; u < made.graph.num_units(); ++u) {
    const DeviceId drawn = static_cast<DeviceId>(random.below(3));
    const DeviceId pinned = made.graph.has_fixed() ? made.graph.unit_fixed(u) : kNoDevice;
    device.push_back(pinned == kNoDevice ? drawn : pinned);
  }
  for (NodeId v = 0; v < made.graph.num_nodes(); ++v) made.placement.device.push_back(device[static_cast<std::size_t>(made.graph.unit(v))]);
  return made;
}

/// Named nodes on given devices; by file id.
inline RunCase run_case(GraphData data, Machine machine, const std::vector<DeviceId>& device) {
  RunCase made;
  made.names = data.names;
  made.graph = Graph(std::move(data));
  made.machine = std::move(machine);
  made.placement.device = made.graph.to_internal(std::span<const DeviceId>(device));
  return made;
}

}  // namespace pardnn::test
