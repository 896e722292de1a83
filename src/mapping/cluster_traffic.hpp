/// What one cluster has to do with the rest of the graph: its span and its communication (paper, Table 1).
#pragma once

#include <span>
#include <vector>

#include "costs/cost_model.hpp"
#include "mapping/level_index.hpp"
#include "slicing/clustering.hpp"

namespace pardnn {

/// `span(sc)`: from the latest expected finish of a parent of the first node to the earliest top level of a child of
/// the last node (first and last in topological order); as positions: nodes with `from <= tl < to`. Without a parent it begins at 0, without a child
/// it ends with the critical path. O(size and degrees of the cluster).
LevelRange cluster_span(const CostModel& costs, const LevelIndex& index, const Clustering& clustering, ClusterId c);

/// `comm(sc)`: mean cost of all edges with exactly one end in the cluster. O(size and degrees).
Nanoseconds cluster_communication(const CostModel& costs, const Clustering& clustering, ClusterId c);

/// Communication of one cluster with what already lies on each device.
class ClusterTraffic {
 public:
  ClusterTraffic(const CostModel& costs, const Clustering& clustering);

  /// Looks at cluster c; `device_of_cluster` tells where the other clusters are (kNoDevice: nowhere). O(size and degrees of c + K).
  void measure(ClusterId c, std::span<const DeviceId> device_of_cluster);
  /// The same, and beside it the part that goes to cluster `other`: `with_other()`.
  void measure(ClusterId c, ClusterId other, std::span<const DeviceId> device_of_cluster);

  /// Mean cost of the edges between the cluster and nodes on d.
  Nanoseconds with_device(DeviceId d) const { return with_device_[d]; }
  /// Sum over all devices.
  Nanoseconds total() const { return total_; }
  Nanoseconds with_other() const { return with_other_; }
  /// The device of greatest traffic among `devices` (ties: first of the list); kNoDevice if there is no traffic.
  DeviceId busiest(std::span<const DeviceId> devices) const;

 private:
  const CostModel* costs_;
  const Clustering* clustering_;
  std::vector<Nanoseconds> with_device_;
  Nanoseconds total_ = 0, with_other_ = 0;
};

}  // namespace pardnn
