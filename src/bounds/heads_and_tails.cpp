#include "bounds/heads_and_tails.hpp"

#include <algorithm>
#include <span>
#include <tuple>

#include "bounds/one_device.hpp"

namespace pardnn {
namespace {

/// Least cost of each edge between different devices, whichever they are.
class LeastTransfer {
 public:
  explicit LeastTransfer(const CostModel& costs) : costs_(costs) {
    const Machine& machine = costs.machine();
    for (DeviceId p = 0; p < machine.num_devices(); ++p) {
      for (DeviceId q = 0; q < machine.num_devices(); ++q) {
        if (p == q) continue;
        latency_ = std::min(latency_, machine.latency[machine.link(p, q)]);
        bandwidth_ = std::max(bandwidth_, machine.bandwidth[machine.link(p, q)]);
      }
    }
  }
  Nanoseconds operator()(EdgeId e) const {
    if (costs_.is_homogeneous()) return costs_.mean_cost(e);
    return latency_ + transfer_time(costs_.graph().bytes(e), bandwidth_);
  }

 private:
  const CostModel& costs_;
  Nanoseconds latency_ = kNever;
  std::int64_t bandwidth_ = 1;
};

/// What one node waits for (or, the other way round, what waits for it).
class Join {
 public:
  explicit Join(const Graph& graph, bool one_device) : graph_(graph), one_device_(one_device) {}

  void begin(NodeId v) {
    node_ = v;
    neighbours_.clear();
  }
  /// A neighbour that can start at `head` and takes `work`; `cost` more to get here from another device.
  void add(NodeId u, Nanoseconds head, Nanoseconds work, Nanoseconds cost) {
    neighbours_.push_back({graph_.unit(u), u, head, work, cost});
  }
  /// The earliest time at which everything can be here.
  Nanoseconds solve() {
    if (neighbours_.empty()) return 0;
    merge_edges();
    group_units();
    return choose();
  }

 private:
  struct Neighbour {
    UnitId unit;
    NodeId node;
    Nanoseconds head, work, cost;
  };
  /// Neighbours that share a device: [first, last) of neighbours_.
  struct Group {
    Nanoseconds arrival;  ///< from another device
    std::size_t first, last;
  };

  void merge_edges() {
    std::sort(neighbours_.begin(), neighbours_.end(), [](const Neighbour& a, const Neighbour& b) {
      return std::tie(a.unit, a.node, b.cost) < std::tie(b.unit, b.node, a.cost);
    });
    const auto same = [](const Neighbour& a, const Neighbour& b) { return a.node == b.node; };
    neighbours_.erase(std::unique(neighbours_.begin(), neighbours_.end(), same), neighbours_.end());
  }

  Nanoseconds together(std::size_t first, std::size_t last, bool elsewhere) {
    if (last - first == 1) {
      const Neighbour& one = neighbours_[first];
      return one.head + one.work + (elsewhere ? one.cost : 0);
    }
    jobs_.clear();
    for (std::size_t i = first; i < last; ++i) {
      jobs_.push_back({neighbours_[i].head, neighbours_[i].work, elsewhere ? neighbours_[i].cost : 0});
    }
    return one_device_bound(jobs_);
  }

  void group_units() {
    here_.clear();
    free_.clear();
    least_ = 0;
    const UnitId own = graph_.unit(node_);
    const DeviceId pinned = graph_.fixed(node_);
    for (std::size_t first = 0, last; first < neighbours_.size(); first = last) {
      const UnitId unit = neighbours_[first].unit;
      for (last = first; last < neighbours_.size() && neighbours_[last].unit == unit;) ++last;
      const DeviceId other = graph_.unit_fixed(unit);
      least_ = std::max(least_, together(first, last, false));
      if (one_device_ || unit == own || (pinned != kNoDevice && pinned == other)) {
        here_.push_back({0, first, last});
      } else if (pinned != kNoDevice && other != kNoDevice) {
        least_ = std::max(least_, together(first, last, true));
      } else {
        free_.push_back({together(first, last, true), first, last});
      }
    }
    std::sort(free_.begin(), free_.end(), [](const Group& a, const Group& b) { return a.arrival > b.arrival; });
  }

  /// End of what is computed here if the `count` groups that would arrive last are, too.
  Nanoseconds end_here(std::size_t count) {
    jobs_.clear();
    const auto take = [&](const Group& group) {
      for (std::size_t i = group.first; i < group.last; ++i) jobs_.push_back({neighbours_[i].head, neighbours_[i].work, 0});
    };
    for (const Group& group : here_) take(group);
    for (std::size_t i = 0; i < count; ++i) take(free_[i]);
    return one_device_bound(jobs_);
  }

  /// What comes from elsewhere are the groups with the earliest arrivals: the best split of free_.
  Nanoseconds choose() {
    const auto arrival = [&](std::size_t count) { return count < free_.size() ? free_[count].arrival : 0; };
    std::size_t low = 0, high = free_.size();  // the first count whose end is not before the arrival of the rest
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      if (end_here(middle) >= arrival(middle)) high = middle;
      else low = middle + 1;
    }
    Nanoseconds best = std::max(end_here(low), arrival(low));
    if (low > 0) best = std::min(best, arrival(low - 1));
    return std::max(best, least_);
  }

  const Graph& graph_;
  bool one_device_;
  NodeId node_ = 0;
  Nanoseconds least_ = 0;
  std::vector<Neighbour> neighbours_;
  std::vector<Group> here_, free_;
  std::vector<Job> jobs_;
};

}  // namespace

std::vector<Nanoseconds> least_durations(const CostModel& costs) {
  const Graph& graph = costs.graph();
  const Machine& machine = costs.machine();
  DeviceId fastest = 0;
  for (DeviceId d = 1; d < machine.num_devices(); ++d) {
    if (machine.devices[d].speed > machine.devices[fastest].speed) fastest = d;
  }
  std::vector<Nanoseconds> work(static_cast<std::size_t>(graph.num_nodes()));
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    work[v] = costs.duration(v, graph.fixed(v) == kNoDevice ? fastest : graph.fixed(v));
  }
  return work;
}

HeadsAndTails heads_and_tails(const CostModel& costs, const std::vector<Nanoseconds>& work) {
  const Graph& graph = costs.graph();
  const LeastTransfer least(costs);
  Join join(graph, costs.num_devices() == 1);
  HeadsAndTails bounds;
  bounds.head.resize(work.size());
  bounds.tail.resize(work.size());
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    join.begin(v);
    for (EdgeId i = graph.in_begin(v); i < graph.in_end(v); ++i) {
      const NodeId u = graph.source(i);
      join.add(u, bounds.head[u], work[u], costs.num_devices() > 1 ? least(graph.in_edge(i)) : 0);
    }
    bounds.head[v] = join.solve();
  }
  for (NodeId v = graph.num_nodes(); v-- > 0;) {
    join.begin(v);
    for (EdgeId e = graph.out_begin(v); e < graph.out_end(v); ++e) {
      const NodeId w = graph.target(e);
      join.add(w, bounds.tail[w], work[w], costs.num_devices() > 1 ? least(e) : 0);
    }
    bounds.tail[v] = join.solve();
  }
  return bounds;
}

}  // namespace pardnn
