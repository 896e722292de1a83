#include "refinement/path_switch.hpp"

#include <algorithm>
#include <utility>

#include "levels/critical_path.hpp"

namespace pardnn {

namespace {

/// One round over one critical path; levels of moved units are kept up to date, those of other nodes are not.
class PathRound {
 public:
  PathRound(const CostModel& costs, WeightedLevels& levels, std::vector<DeviceId>& device, std::vector<int>& tries)
      : costs_(costs), graph_(costs.graph()), levels_(levels), device_(device), tries_(tries) {}

  /// Returns the units that moved with the device each came from.
  const std::vector<std::pair<UnitId, DeviceId>>& run(const CriticalPath& path) {
    for (const NodeId v : path.nodes) tries_[graph_.unit(v)] = 0;
    for (std::size_t i = 0; i + 1 < path.nodes.size(); ++i) {
      const NodeId u = path.nodes[i], v = path.nodes[i + 1];
      if (device_[u] != device_[v]) try_to_join(u, v, path.length);
    }
    return moved_;
  }

 private:
  /// More tries of one unit in a round would make long paths through large units quadratic.
  static constexpr int kTries = 4;

  void try_to_join(NodeId u, NodeId v, Nanoseconds length) {
    const Nanoseconds through_u = longest_through(u, device_[v]), through_v = longest_through(v, device_[u]);
    if (std::min(through_u, through_v) >= length) return;
    if (through_u < through_v) {
      move(graph_.unit(u), device_[v]);
    } else {
      move(graph_.unit(v), device_[u]);
    }
  }

  /// The longest path through v's unit if it were on d; the greatest number if it may not go there.
  Nanoseconds longest_through(NodeId v, DeviceId d) {
    const UnitId unit = graph_.unit(v);
    if (graph_.unit_fixed(unit) != kNoDevice || ++tries_[unit] > kTries) return INT64_MAX;
    Nanoseconds longest = 0;
    for (const NodeId m : graph_.unit_nodes(unit)) longest = std::max(longest, top_on(m, unit, d) + bottom_on(m, unit, d));
    return longest;
  }

  DeviceId device_if(NodeId v, UnitId moving, DeviceId d) const { return graph_.unit(v) == moving ? d : device_[v]; }

  Nanoseconds top_on(NodeId v, UnitId moving, DeviceId d) const {
    Nanoseconds latest = 0;
    for (EdgeId i = graph_.in_begin(v); i < graph_.in_end(v); ++i) {
      const NodeId u = graph_.source(i);
      const DeviceId p = device_if(u, moving, d);
      latest = std::max(latest, levels_.top[u] + costs_.duration(u, p) + costs_.cost(graph_.in_edge(i), p, d));
    }
    return latest;
  }

  Nanoseconds bottom_on(NodeId v, UnitId moving, DeviceId d) const {
    Nanoseconds heaviest = 0;
    for (EdgeId e = graph_.out_begin(v); e < graph_.out_end(v); ++e) {
      const NodeId w = graph_.target(e);
      heaviest = std::max(heaviest, costs_.cost(e, d, device_if(w, moving, d)) + levels_.bottom[w]);
    }
    return costs_.duration(v, d) + heaviest;
  }

  void move(UnitId unit, DeviceId d) {
    const auto nodes = graph_.unit_nodes(unit);
    moved_.emplace_back(unit, device_[nodes.front()]);
    for (const NodeId m : nodes) device_[m] = d;
    for (const NodeId m : nodes) levels_.top[m] = top_on(m, unit, d);
    for (std::size_t i = nodes.size(); i-- > 0;) levels_.bottom[nodes[i]] = bottom_on(nodes[i], unit, d);
  }

  const CostModel& costs_;
  const Graph& graph_;
  WeightedLevels& levels_;
  std::vector<DeviceId>& device_;
  std::vector<int>& tries_;  // by unit; only entries of units on the path are valid
  std::vector<std::pair<UnitId, DeviceId>> moved_;
};

}  // namespace

std::vector<DeviceId> switch_along_critical_path(const CostModel& costs, std::vector<DeviceId> device, int rounds) {
  const Graph& graph = costs.graph();
  std::vector<int> tries(graph.num_units(), 0);
  WeightedLevels levels = placed_levels(costs, device);
  CriticalPath path = placed_critical_path(costs, device, levels);
  for (int round = 0; round < rounds; ++round) {
    PathRound switches(costs, levels, device, tries);
    const auto& moved = switches.run(path);
    if (moved.empty()) break;
    levels = placed_levels(costs, device);
    CriticalPath next = placed_critical_path(costs, device, levels);
    if (next.length > path.length) {
      for (std::size_t i = moved.size(); i-- > 0;) {
        for (const NodeId v : graph.unit_nodes(moved[i].first)) device[v] = moved[i].second;
      }
      break;
    }
    path = std::move(next);
  }
  return device;
}

}  // namespace pardnn
