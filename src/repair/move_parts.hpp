/// Sets of nodes that repair moves as one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pardnn/graph.hpp"

namespace pardnn {

/// A unit, or a group of units: units have the ids of the graph, groups those from num_units() on.
using PartId = std::int64_t;

class MoveParts {
 public:
  static constexpr PartId kNone = -1;

  /// Keeps a reference to `graph`. `group_of_node`: V, or empty (no groups); a unit goes with its first node. O(V).
  MoveParts(const Graph& graph, std::span<const std::int64_t> group_of_node);

  PartId num_units() const { return graph_.num_units(); }
  PartId num_parts() const { return graph_.num_units() + num_groups_; }
  bool is_group(PartId part) const { return part >= graph_.num_units(); }
  /// The group that v moves with; kNone if there are no groups, or if v's unit is pinned.
  PartId group(NodeId v) const {
    if (num_groups_ == 0 || graph_.fixed(v) != kNoDevice) return kNone;
    return graph_.num_units() + group_of_unit_[graph_.unit(v)];
  }
  /// The unit of v; kNone if it is pinned.
  PartId unit(NodeId v) const { return graph_.fixed(v) == kNoDevice ? graph_.unit(v) : kNone; }

  /// Nodes of the part that are on d and may leave it, unit by unit, into `nodes`. O(nodes of the part).
  void nodes_on(PartId part, std::span<const DeviceId> device, DeviceId d, std::vector<NodeId>& nodes) const;

 private:
  const Graph& graph_;
  std::int64_t num_groups_ = 0;
  std::vector<std::int64_t> group_of_unit_;
  std::vector<std::int64_t> offsets_;  // by group, into units_
  std::vector<UnitId> units_;
};

}  // namespace pardnn
