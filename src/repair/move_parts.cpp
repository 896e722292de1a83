#include "repair/move_parts.hpp"

#include <algorithm>

namespace pardnn {

MoveParts::MoveParts(const Graph& graph, std::span<const std::int64_t> group_of_node) : graph_(graph) {
  if (group_of_node.empty()) return;
  group_of_unit_.resize(static_cast<std::size_t>(graph.num_units()));
  for (UnitId u = 0; u < graph.num_units(); ++u) {
    group_of_unit_[u] = group_of_node[graph.unit_nodes(u).front()];
    num_groups_ = std::max(num_groups_, group_of_unit_[u] + 1);
  }
  offsets_.assign(static_cast<std::size_t>(num_groups_) + 1, 0);
  for (const std::int64_t group : group_of_unit_) ++offsets_[group + 1];
  for (std::int64_t g = 0; g < num_groups_; ++g) offsets_[g + 1] += offsets_[g];
  units_.resize(static_cast<std::size_t>(graph.num_units()));
  std::vector<std::int64_t> next(offsets_.begin(), offsets_.end());
  for (UnitId u = 0; u < graph.num_units(); ++u) units_[next[group_of_unit_[u]]++] = u;
}

void MoveParts::nodes_on(PartId part, std::span<const DeviceId> device, DeviceId d, std::vector<NodeId>& nodes) const {
  nodes.clear();
  const auto add = [&](UnitId unit) {
    const std::span<const NodeId> members = graph_.unit_nodes(unit);
    if (graph_.unit_fixed(unit) != kNoDevice || device[members.front()] != d) return;
    nodes.insert(nodes.end(), members.begin(), members.end());
  };
  if (!is_group(part)) return add(part);
  const std::int64_t group = part - graph_.num_units();
  for (std::int64_t i = offsets_[group]; i < offsets_[group + 1]; ++i) add(units_[i]);
}

}  // namespace pardnn
