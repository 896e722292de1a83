/// Machines of every kind and placements of every kind, seeded; and the cases made of both that the core's tests run on.
#pragma once

#include <cstdint>
#include <vector>

#include "pardnn/graph.hpp"
#include "pardnn/machine.hpp"
#include "pardnn/placement.hpp"
#include "support/random_graphs.hpp"

namespace pardnn::test {

enum class MachineKind { homogeneous, two_hosts, speeds, matrices, no_latency };
inline constexpr int kMachineKinds = 5;

/// A machine of `devices` devices whose memory is `memory` on average (kUnlimited stays).
Machine random_machine(TestRandom& random, MachineKind kind, DeviceId devices, Bytes memory, Links links);

enum class PlacementKind { respects_units, breaks_units, all_on_one };
inline constexpr int kPlacementKinds = 3;

/// Lowest file id of the set of nodes that must share a device (groups and alias chains joined), by file id. Found by
/// relaxation: slow, obviously right.
std::vector<std::int64_t> tied_to(const GraphData& data);

/// Device of each node in file order. `respects_units` also respects pins; the others may break everything.
std::vector<DeviceId> random_placement(TestRandom& random, const GraphData& data, PlacementKind kind, DeviceId devices);

/// One seeded case: all features, kinds and policies come up within a few dozen seeds.
struct RandomCase {
  GraphData data;
  Machine machine;
  std::vector<DeviceId> device;         ///< file order
  std::vector<std::int64_t> priority;   ///< file order; often empty
  Policy policy = Policy::fifo;
};
RandomCase random_case(std::uint64_t seed);

}  // namespace pardnn::test
