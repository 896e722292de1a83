#include "bounds/makespan_bound.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "bounds/heads_and_tails.hpp"
#include "bounds/one_device.hpp"
#include "pardnn/emulate.hpp"

namespace pardnn {
namespace {

__extension__ using Wide = __int128;

/// Units that are held to share a device, at most: with more of them the even share of all work says as much.
constexpr std::size_t kMostSharing = 64;

/// The greatest of values that come in one by one, while amounts are added to all up to some place: a tree of maxima with lazy
/// sums, O(log size) each.
class PrefixAdditions {
 public:
  explicit PrefixAdditions(std::size_t size) {
    while (leaves_ < size) leaves_ *= 2;
    greatest_.assign(2 * leaves_, kAbsent);
    added_.assign(2 * leaves_, 0);
  }
  /// The value at `place` counts from now on, with what was added there before; at most once for each place.
  void insert(std::size_t place, Wide value) {
    greatest_[place + leaves_] += value - kAbsent;
    for (std::size_t node = place + leaves_; node > 1; node /= 2) update_parent(node);
  }
  /// Adds `amount` to places 0 .. last.
  void add(std::size_t last, Wide amount) {
    std::size_t node = last + leaves_;
    apply(node, amount);
    for (; node > 1; node /= 2) {
      if (node % 2 == 1) apply(node - 1, amount);
      update_parent(node);
    }
  }
  Wide greatest() const { return greatest_[1]; }

 private:
  static constexpr Wide kAbsent = -(Wide(1) << 120);
  void apply(std::size_t node, Wide amount) {
    greatest_[node] += amount;
    added_[node] += amount;
  }
  void update_parent(std::size_t node) {
    greatest_[node / 2] = std::max(greatest_[node], greatest_[node ^ 1]) + added_[node / 2];
  }
  std::size_t leaves_ = 1;
  std::vector<Wide> greatest_, added_;
};

Nanoseconds path_bound(const HeadsAndTails& at, const std::vector<Nanoseconds>& work) {
  Nanoseconds bound = 0;
  for (std::size_t v = 0; v < work.size(); ++v) bound = std::max(bound, at.head[v] + work[v] + at.tail[v]);
  return bound;
}

/// max over h, t of h + (work of nodes with head >= h and tail >= t) / (speed of all devices) + t.
Nanoseconds load_bound(const CostModel& costs, const HeadsAndTails& at) {
  const Graph& graph = costs.graph();
  std::int64_t speed = 0;  // millionths
  for (const Device& device : costs.machine().devices) speed += device.speed;
  std::vector<NodeId> by_head;
  std::vector<Nanoseconds> tails;
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    if (graph.comp(v) == 0) continue;
    by_head.push_back(v);
    tails.push_back(at.tail[v]);
  }
  if (by_head.empty()) return 0;
  std::sort(by_head.begin(), by_head.end(), [&](NodeId a, NodeId b) { return at.head[a] > at.head[b]; });
  std::sort(tails.begin(), tails.end());
  tails.erase(std::unique(tails.begin(), tails.end()), tails.end());
  std::vector<char> counts(tails.size(), 0);
  PrefixAdditions load(tails.size());
  Wide greatest = 0;
  for (std::size_t i = 0; i < by_head.size(); ++i) {
    const NodeId v = by_head[i];
    const auto place = static_cast<std::size_t>(std::lower_bound(tails.begin(), tails.end(), at.tail[v]) - tails.begin());
    load.add(place, Wide(graph.comp(v)) * kOne);
    if (!counts[place]) load.insert(place, Wide(at.tail[v]) * speed);
    counts[place] = 1;
    if (i + 1 == by_head.size() || at.head[by_head[i + 1]] < at.head[v]) {
      greatest = std::max(greatest, Wide(at.head[v]) * speed + load.greatest());
    }
  }
  return static_cast<Nanoseconds>((greatest + speed - 1) / speed);
}

/// What one device needs for the nodes of each unit, and for all that is pinned to it.
Nanoseconds device_bound(const CostModel& costs, const HeadsAndTails& at, const std::vector<Nanoseconds>& work) {
  const Graph& graph = costs.graph();
  Nanoseconds bound = 0;
  std::vector<Job> jobs;
  const auto add = [&](NodeId v) {
    if (work[v] > 0) jobs.push_back({at.head[v], work[v], at.tail[v]});
  };
  std::vector<std::vector<Job>> pinned(static_cast<std::size_t>(costs.num_devices()));
  for (UnitId u = 0; u < graph.num_units(); ++u) {
    const bool single = graph.unit_nodes(u).size() == 1;
    const DeviceId device = graph.unit_fixed(u);
    if (single && device == kNoDevice) continue;
    jobs.clear();
    for (const NodeId v : graph.unit_nodes(u)) add(v);
    if (device != kNoDevice) pinned[device].insert(pinned[device].end(), jobs.begin(), jobs.end());
    else bound = std::max(bound, one_device_bound(jobs));
  }
  for (auto& all : pinned) bound = std::max(bound, one_device_bound(all));
  return bound;
}

/// Of t K + 1 units some t + 1 share a device: its work, with the least head before and the least tail behind. For every t, over the
/// units with the most work.
Nanoseconds crowding_bound(const CostModel& costs, const HeadsAndTails& at, const std::vector<Nanoseconds>& work) {
  const Graph& graph = costs.graph();
  std::vector<Job> units;  // of each unit: least head, work, least tail of its nodes that take time
  for (UnitId u = 0; u < graph.num_units(); ++u) {
    Job unit{kNever, 0, kNever};
    for (const NodeId v : graph.unit_nodes(u)) {
      if (work[v] == 0) continue;
      unit = {std::min(unit.head, at.head[v]), unit.work + work[v], std::min(unit.tail, at.tail[v])};
    }
    if (unit.work > 0) units.push_back(unit);
  }
  std::sort(units.begin(), units.end(), [](const Job& a, const Job& b) { return a.work > b.work; });
  const auto devices = static_cast<std::size_t>(costs.num_devices());
  Nanoseconds bound = 0, head = kNever, tail = kNever;
  for (std::size_t seen = 0, shared = 1; seen < units.size(); ++seen) {
    head = std::min(head, units[seen].head);
    tail = std::min(tail, units[seen].tail);
    if (seen != shared * devices) continue;
    ++shared;
    // The `shared` units of least work among those seen; never more of them than there are.
    Nanoseconds together = 0;
    for (std::size_t i = 0; i < shared; ++i) together += units[seen - i].work;
    bound = std::max(bound, head + together + tail);
    if (shared > kMostSharing) break;
  }
  return bound;
}

}  // namespace

Nanoseconds makespan_bound(const CostModel& costs) {
  const std::vector<Nanoseconds> work = least_durations(costs);
  const HeadsAndTails at = heads_and_tails(costs, work);
  return std::max({path_bound(at, work), load_bound(costs, at), device_bound(costs, at, work), crowding_bound(costs, at, work)});
}

MakespanBounds makespan_bounds(const CostModel& costs) {
  const Nanoseconds plain = lower_bound(costs.graph(), costs.machine());
  // Pins beyond the machine: every placement breaks a rule, and nothing is known of a device that is not there.
  if (costs.graph().greatest_fixed() >= costs.num_devices()) return {plain, plain};
  return {plain, std::max(plain, makespan_bound(costs))};
}

}  // namespace pardnn
