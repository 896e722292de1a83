#include "search/exhaustive.hpp"

#include <algorithm>
#include <vector>

namespace pardnn {
namespace {

/// True if renaming devices changes nothing: equal speeds, links and memory, no pins, and no port order by device index.
bool devices_are_alike(const CostModel& costs) {
  const Machine& machine = costs.machine();
  if (!costs.is_homogeneous() || costs.graph().has_fixed() || machine.links == Links::ports) return false;
  for (DeviceId d = 1; d < machine.num_devices(); ++d) {
    if (machine.usable(d) != machine.usable(0)) return false;
  }
  return true;
}

/// Counts up through all assignments of units to devices.
class Assignments {
 public:
  explicit Assignments(const CostModel& costs) : graph_(costs.graph()), devices_(costs.num_devices()), alike_(devices_are_alike(costs)) {
    for (UnitId u = 0; u < graph_.num_units(); ++u) {
      choice_.push_back(graph_.unit_fixed(u) == kNoDevice ? 0 : graph_.unit_fixed(u));
    }
  }
  DeviceId of(UnitId u) const { return choice_[u]; }

  /// Steps to the next assignment; false after the last one.
  bool next() {
    for (UnitId u = graph_.num_units() - 1; u >= 0; --u) {
      if (graph_.unit_fixed(u) != kNoDevice) continue;
      if (choice_[u] + 1 < choices(u)) {
        ++choice_[u];
        return true;
      }
      choice_[u] = 0;
    }
    return false;
  }

 private:
  /// Devices worth trying for u: with devices alike, one unused device stands for all of them.
  DeviceId choices(UnitId u) const {
    if (!alike_) return devices_;
    DeviceId used = 0;
    for (UnitId earlier = 0; earlier < u; ++earlier) used = std::max(used, choice_[earlier] + 1);
    return std::min(devices_, used + 1);
  }

  const Graph& graph_;
  DeviceId devices_;
  bool alike_;
  std::vector<DeviceId> choice_;
};

}  // namespace

std::optional<std::int64_t> count_placements(const CostModel& costs, std::int64_t limit) {
  const std::int64_t devices = costs.num_devices();
  if (devices_are_alike(costs)) {
    // by_used[k]: assignments of the units so far that use k devices.
    std::vector<std::int64_t> by_used(static_cast<std::size_t>(devices) + 1, 0);
    by_used[0] = 1;
    std::int64_t total = 1;
    for (UnitId u = 0; u < costs.graph().num_units(); ++u) {
      for (std::int64_t k = devices; k >= 1; --k) by_used[k] = by_used[k] * k + by_used[k - 1];
      by_used[0] = 0;
      total = 0;
      for (const std::int64_t count : by_used) total += count;
      if (total > limit) return std::nullopt;
    }
    return total;
  }
  std::int64_t total = 1;
  for (UnitId u = 0; u < costs.graph().num_units(); ++u) {
    if (costs.graph().unit_fixed(u) != kNoDevice) continue;
    total *= devices;
    if (total > limit) return std::nullopt;
  }
  return total;
}

Candidate best_of_all(Judge& judge) {
  const Graph& graph = judge.costs().graph();
  Assignments assignments(judge.costs());
  Candidate best;
  best.origin = "exhaustive";
  std::vector<DeviceId> device(static_cast<std::size_t>(graph.num_nodes()));
  bool first = true;
  do {
    for (NodeId v = 0; v < graph.num_nodes(); ++v) device[v] = assignments.of(graph.unit(v));
    Score score;
    if (first) {
      score = judge.score(device);
    } else if (!judge.score_within(device, {}, best.score, score) || !(score < best.score)) {
      continue;
    }
    first = false;
    best.device = device;
    best.score = score;
  } while (assignments.next());
  return best;
}

}  // namespace pardnn
