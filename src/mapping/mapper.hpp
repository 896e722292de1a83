/// Clusters -> devices (paper, Algorithm 2 and Eqn 1; NOTES 3, 4).
#pragma once

#include <cstdint>
#include <vector>

#include "mapping/level_index.hpp"
#include "slicing/clustering.hpp"

namespace pardnn {

/// How secondaries that survive the initial merge find their device.
enum class Balance {
  level_aware,  ///< LALB, Eqn 1: least work within the cluster's span plus communication
  global,       ///< GLB (Radulescu and van Gemund, HPCS 1998): least work in all, communication ignored
};

struct MappingOptions {
  Balance balance = Balance::level_aware;
  /// First merge the secondaries whose communication no parallel work can hide (Algorithm 2, lines 1-7).
  bool initial_merge = true;
  /// Use only so many devices, the fastest first (0: all). Pinned clusters go where they must all the same.
  DeviceId devices = 0;
};

/// The devices that options.devices allows, ascending: the fastest, ties to the lower index. O(K log K).
std::vector<DeviceId> allowed_devices(const Machine& machine, DeviceId devices);

/// The device of each cluster. Primary i goes to device i (the heaviest to the fastest device where speeds differ), pinned clusters where
/// they must, then the initial merge in the order of discovery, then load balancing, heaviest cluster first
/// (ties: found earlier). Communication counts with mean costs, work with the speed of its device.
///
/// A departure from Eqn 1: a cluster without work loads no device, so that only its communication decides.
/// O((V + E) + clusters (K log V + kBlock) + V log V); independent of threads.
std::vector<DeviceId> map_clusters(const CostModel& costs, const Clustering& clustering, const LevelIndex& index,
                                   const MappingOptions& options);

/// The device of each node. O(V).
std::vector<DeviceId> devices_of_nodes(const Graph& graph, const Clustering& clustering, const std::vector<DeviceId>& device_of_cluster);

}  // namespace pardnn
