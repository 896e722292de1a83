/// Clusters of units: what graph slicing makes of a graph.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pardnn/graph.hpp"

namespace pardnn {

/// A partition of the units into clusters: first the primaries (one per device, maybe empty), then the secondaries,
/// in the order in which they were found.
struct Clustering {
  std::vector<ClusterId> of_unit;
  /// Cluster c holds units[offsets[c] .. offsets[c + 1]), in path order.
  std::vector<std::int64_t> offsets{0};
  std::vector<UnitId> units;
  /// The device that a cluster is pinned to, or kNoDevice.
  std::vector<DeviceId> fixed;
  ClusterId primaries = 0;

  ClusterId num_clusters() const { return static_cast<ClusterId>(offsets.size()) - 1; }
  std::span<const UnitId> cluster(ClusterId c) const {
    return {units.data() + offsets[c], static_cast<std::size_t>(offsets[c + 1] - offsets[c])};
  }
};

/// Calls visit(v) for each node of cluster c: unit after unit in path order, nodes of a unit in topological order.
template <typename Visit>
void for_each_node(const Graph& graph, const Clustering& clustering, ClusterId c, const Visit& visit) {
  for (const UnitId u : clustering.cluster(c)) {
    for (const NodeId v : graph.unit_nodes(u)) visit(v);
  }
}

}  // namespace pardnn
