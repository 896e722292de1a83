#include "refinement/cluster_swap.hpp"

#include <algorithm>
#include <utility>

#include "mapping/cluster_traffic.hpp"
#include "mapping/level_loads.hpp"

namespace pardnn {

namespace {

class Swapper {
 public:
  Swapper(const CostModel& costs, const Clustering& clustering, const LevelIndex& index, std::vector<DeviceId> device)
      : costs_(costs), graph_(costs.graph()), clustering_(clustering), index_(index), device_(std::move(device)),
        level_loads_(costs, index), traffic_(costs, clustering), other_traffic_(costs, clustering),
        loads_(costs.num_devices()), other_loads_(costs.num_devices()), settled_(device_.size(), 0) {
    for (ClusterId c = 0; c < clustering.num_clusters(); ++c) {
      for_each_node(graph_, clustering_, c, [&](NodeId v) { level_loads_.add(v, device_[c]); });
      if (c < clustering.primaries || clustering.fixed[c] != kNoDevice) settled_[c] = 1;
    }
    list_secondaries();
  }

  std::vector<DeviceId> run() {
    std::vector<ClusterId> order = by_start_;
    std::stable_sort(order.begin(), order.end(), [&](ClusterId a, ClusterId b) { return weight_[a] > weight_[b]; });
    for (const ClusterId c : order) {
      if (settled_[c] == 0) try_to_swap(c);
    }
    return std::move(device_);
  }

 private:
  /// Swappable clusters, sorted by the position of their first node.
  void list_secondaries() {
    const ClusterId clusters = clustering_.num_clusters();
    first_.assign(clusters, 0);
    weight_.assign(clusters, 0);
    span_.resize(clusters);
    rank_.assign(clusters, 0);
    for (ClusterId c = 0; c < clusters; ++c) {
      if (settled_[c] != 0) continue;
      first_[c] = index_.size();
      for_each_node(graph_, clustering_, c, [&](NodeId v) {
        first_[c] = std::min(first_[c], index_.position(v));
        weight_[c] += graph_.comp(v);
      });
      span_[c] = cluster_span(costs_, index_, clustering_, c);
      by_start_.push_back(c);
    }
    std::sort(by_start_.begin(), by_start_.end(), [&](ClusterId a, ClusterId b) { return first_[a] < first_[b]; });
    for (std::size_t i = 0; i < by_start_.size(); ++i) rank_[by_start_[i]] = static_cast<std::int64_t>(i);
  }

  /// Time on d of those nodes of cluster c that lie in `range`.
  Nanoseconds work_in(ClusterId c, DeviceId d, LevelRange range) const {
    Nanoseconds work = 0;
    for_each_node(graph_, clustering_, c, [&](NodeId v) {
      const std::int64_t position = index_.position(v);
      if (position >= range.from && position < range.to) work += costs_.duration(v, d);
    });
    return work;
  }

  void try_to_swap(ClusterId c) {
    traffic_.measure(c, device_);
    level_loads_.loads(span_[c], loads_);
    ClusterId best = -1;
    Nanoseconds best_gain = 0;
    const auto [begin, end] = candidates(c);
    for (std::int64_t i = begin; i < end; ++i) {
      const ClusterId other = by_start_[i];
      if (settled_[other] != 0 || device_[other] == device_[c] || !prefers(c, device_[other])) continue;
      const Nanoseconds gained = gain(c, other);
      if (gained <= best_gain) continue;
      best = other;
      best_gain = gained;
    }
    if (best >= 0) swap(c, best);
  }

  /// Ranks of the clusters that start within c's span; of many, those around c.
  std::pair<std::int64_t, std::int64_t> candidates(ClusterId c) const {
    const auto starts_before = [&](ClusterId a, std::int64_t position) { return first_[a] < position; };
    const auto rank_of = [&](std::int64_t position) {
      return std::lower_bound(by_start_.begin(), by_start_.end(), position, starts_before) - by_start_.begin();
    };
    const std::int64_t begin = rank_of(span_[c].from), end = rank_of(span_[c].to);
    const std::int64_t around = rank_[c] - kSwapCandidates / 2;
    return {std::max(begin, around), std::min(end, around + kSwapCandidates + 1)};
  }

  /// Worth a closer look: in c's span d has less work than its home, or c talks more to d.
  bool prefers(ClusterId c, DeviceId d) const {
    const DeviceId home = device_[c];
    return loads_[d] < loads_[home] || traffic_.with_device(d) > traffic_.with_device(home);
  }

  /// By how much the busier of both devices gets less busy in `range`, if c and other change places there.
  Nanoseconds balance_gain(ClusterId c, ClusterId other, LevelRange range, const std::vector<Nanoseconds>& loads) const {
    const DeviceId p = device_[c], q = device_[other];
    const Nanoseconds p_after = loads[p] - work_in(c, p, range) + work_in(other, p, range);
    const Nanoseconds q_after = loads[q] - work_in(other, q, range) + work_in(c, q, range);
    return std::max(loads[p], loads[q]) - std::max(p_after, q_after);
  }

  /// By how much balance within both spans and communication improve if c and other change places; 0 if either gets worse.
  Nanoseconds gain(ClusterId c, ClusterId other) {
    const DeviceId p = device_[c], q = device_[other];
    other_traffic_.measure(other, c, device_);
    level_loads_.loads(span_[other], other_loads_);
    const Nanoseconds between = other_traffic_.with_other();  // is cut before and after
    const Nanoseconds cut = traffic_.with_device(q) - traffic_.with_device(p) + other_traffic_.with_device(p) -
                            other_traffic_.with_device(q) - 2 * between;
    const Nanoseconds balance = balance_gain(c, other, span_[c], loads_) + balance_gain(c, other, span_[other], other_loads_);
    return balance < 0 || cut < 0 ? 0 : balance + cut;
  }

  void swap(ClusterId c, ClusterId other) {
    for (const ClusterId moved : {c, other}) for_each_node(graph_, clustering_, moved, [&](NodeId v) { level_loads_.remove(v); });
    std::swap(device_[c], device_[other]);
    for (const ClusterId moved : {c, other}) {
      for_each_node(graph_, clustering_, moved, [&](NodeId v) { level_loads_.add(v, device_[moved]); });
      settled_[moved] = 1;
    }
  }

  const CostModel& costs_;
  const Graph& graph_;
  const Clustering& clustering_;
  const LevelIndex& index_;
  std::vector<DeviceId> device_;  // by cluster
  LevelLoads level_loads_;
  ClusterTraffic traffic_, other_traffic_;        // of the cluster at hand, and of a candidate
  std::vector<Nanoseconds> loads_, other_loads_;  // work in their spans, by device
  std::vector<char> settled_;                     // primaries, pinned clusters, and those that have swapped
  std::vector<ClusterId> by_start_;
  std::vector<std::int64_t> first_, rank_;  // by cluster: first position; place in by_start_
  std::vector<Nanoseconds> weight_;
  std::vector<LevelRange> span_;
};

}  // namespace

std::vector<DeviceId> swap_clusters(const CostModel& costs, const Clustering& clustering, const LevelIndex& index,
                                    std::vector<DeviceId> device_of_cluster) {
  return Swapper(costs, clustering, index, std::move(device_of_cluster)).run();
}

}  // namespace pardnn
