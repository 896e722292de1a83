/// Pipeline stages: contiguous runs of layers, each with its forward and its backward work, cut so that memory comes out even.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "construct/affinity.hpp"
#include "costs/cost_model.hpp"

namespace pardnn {

/// Which stages a device gets.
enum class StageShape : std::uint8_t {
  blocks,  ///< stage i on device i
  wave     ///< 2 K stages, i and 2 K - 1 - i on device i: a device has much and little in flight at once
};

/// Affinity groups in the order in which forward work reaches them, to be cut into stages by weights that can be changed device by device.
class Stages {
 public:
  /// Weights are the work of the groups at first. O((V + E) log V).
  Stages(const CostModel& costs, const AffinityGroups& groups);

  /// Devices of all nodes: stages of equal weight per speed. Pinned units stay where they must, and take their group along. O(V + K).
  std::vector<DeviceId> cut(StageShape shape) const;

  /// Weights of the groups that are on d in `device` times factor[d], in millionths. O(V).
  void scale(std::span<const DeviceId> device, std::span<const Millionths> factor);

 private:
  const CostModel* costs_;
  std::vector<std::int64_t> rank_of_node_;  // place of v's group in the order
  std::vector<NodeId> first_;               // a node of each group, by rank
  std::vector<std::int64_t> weight_;        // by rank
  std::vector<DeviceId> fixed_;             // by rank
};

}  // namespace pardnn
