#include "mapping/mapper.hpp"

#include <algorithm>
#include <numeric>

#include "mapping/cluster_traffic.hpp"
#include "mapping/level_loads.hpp"

namespace pardnn {

namespace {

/// Devices by falling speed, ties to the lower index.
std::vector<DeviceId> fastest_first(const Machine& machine) {
  std::vector<DeviceId> devices(machine.num_devices());
  std::iota(devices.begin(), devices.end(), 0);
  std::stable_sort(devices.begin(), devices.end(),
                   [&](DeviceId a, DeviceId b) { return machine.devices[a].speed > machine.devices[b].speed; });
  return devices;
}

class Mapper {
 public:
  Mapper(const CostModel& costs, const Clustering& clustering, const LevelIndex& index, const MappingOptions& options)
      : costs_(costs), graph_(costs.graph()), clustering_(clustering), index_(index), options_(options),
        devices_(allowed_devices(costs.machine(), options.devices)), traffic_(costs, clustering), level_loads_(costs, index),
        total_loads_(costs.num_devices()), span_loads_(costs.num_devices()), own_work_(costs.num_devices()) {
    device_.assign(clustering.num_clusters(), kNoDevice);
    weigh_clusters();
  }

  std::vector<DeviceId> map() {
    place_primaries();
    for (ClusterId c = clustering_.primaries; c < clustering_.num_clusters(); ++c) {
      if (clustering_.fixed[c] != kNoDevice) place(c, clustering_.fixed[c]);
    }
    if (options_.initial_merge) merge_unhidden();
    balance_remaining();
    return std::move(device_);
  }

 private:
  void weigh_clusters() {
    weight_.assign(clustering_.num_clusters(), 0);
    for (ClusterId c = 0; c < clustering_.num_clusters(); ++c) {
      for_each_node(graph_, clustering_, c, [&](NodeId v) { weight_[c] += graph_.comp(v); });
    }
  }

  void place(ClusterId c, DeviceId d) {
    device_[c] = d;
    for_each_node(graph_, clustering_, c, [&](NodeId v) {
      level_loads_.add(v, d);
      total_loads_[d] += costs_.duration(v, d);
    });
  }

  /// Clusters of [begin, end), heaviest first, ties to the one found earlier.
  std::vector<ClusterId> heaviest_first(ClusterId begin, ClusterId end) const {
    std::vector<ClusterId> order;
    for (ClusterId c = begin; c < end; ++c) {
      if (device_[c] == kNoDevice) order.push_back(c);
    }
    std::stable_sort(order.begin(), order.end(), [&](ClusterId a, ClusterId b) { return weight_[a] > weight_[b]; });
    return order;
  }

  void place_primaries() {
    std::vector<char> taken(costs_.num_devices(), 0);
    for (ClusterId c = 0; c < clustering_.primaries; ++c) {
      if (clustering_.fixed[c] == kNoDevice) continue;
      place(c, clustering_.fixed[c]);
      taken[clustering_.fixed[c]] = 1;
    }
    const std::vector<DeviceId> fast = fastest_first(costs_.machine());
    const bool equal_speeds = costs_.machine().devices[fast.front()].speed == costs_.machine().devices[fast.back()].speed;
    std::vector<ClusterId> order = heaviest_first(0, clustering_.primaries);
    if (equal_speeds) std::sort(order.begin(), order.end());
    auto next = order.begin();
    for (const DeviceId d : fast) {
      if (next == order.end()) break;
      if (taken[d] == 0 && std::binary_search(devices_.begin(), devices_.end(), d)) place(*next++, d);
    }
    // Pins outside the allowed devices cannot leave primaries over; more primaries than devices can: they are balanced like secondaries.
  }

  /// Algorithm 2, lines 1-7.
  void merge_unhidden() {
    const std::vector<Nanoseconds> work_before = work_by_position();
    for (ClusterId c = clustering_.primaries; c < clustering_.num_clusters(); ++c) {
      if (device_[c] != kNoDevice) continue;
      const Nanoseconds communication = cluster_communication(costs_, clustering_, c);
      if (communication <= potential(c, work_before)) continue;
      traffic_.measure(c, device_);
      const DeviceId target = traffic_.busiest(devices_);
      if (target != kNoDevice) place(c, target);
    }
  }

  /// Prefix sums of work over positions: as no weight changes here, they do what the paper's tree does, in O(1).
  std::vector<Nanoseconds> work_by_position() const {
    std::vector<Nanoseconds> before(index_.size() + 1, 0);
    for (std::int64_t i = 0; i < index_.size(); ++i) before[i + 1] = before[i] + graph_.comp(index_.node(i));
    return before;
  }

  /// `potential(sc)`: work in the cluster's span, its own left out.
  Nanoseconds potential(ClusterId c, const std::vector<Nanoseconds>& work_before) const {
    const LevelRange span = cluster_span(costs_, index_, clustering_, c);
    Nanoseconds work = work_before[span.to] - work_before[span.from];
    for_each_node(graph_, clustering_, c, [&](NodeId v) {
      const std::int64_t position = index_.position(v);
      if (position >= span.from && position < span.to) work -= graph_.comp(v);
    });
    return work;
  }

  void balance_remaining() {
    for (const ClusterId c : heaviest_first(0, clustering_.num_clusters())) {
      traffic_.measure(c, device_);
      place(c, options_.balance == Balance::global ? least_loaded(c) : level_aware_device(c));
    }
  }

  /// own_work_[d] = time of cluster c on d; 0 everywhere on equal devices, where it cannot matter.
  void measure_own_work(ClusterId c) {
    if (costs_.is_homogeneous()) return;
    std::fill(own_work_.begin(), own_work_.end(), 0);
    for_each_node(graph_, clustering_, c, [&](NodeId v) {
      for (const DeviceId d : devices_) own_work_[d] += costs_.duration(v, d);
    });
  }

  DeviceId least_loaded(ClusterId c) {
    measure_own_work(c);
    const auto load = [&](DeviceId d) { return total_loads_[d] + own_work_[d]; };
    DeviceId best = devices_.front();
    for (const DeviceId d : devices_) {
      if (load(d) < load(best)) best = d;
    }
    return best;
  }

  /// Eqn 1. The communication term is the total less what stays inside: the total is the same for every device.
  DeviceId level_aware_device(ClusterId c) {
    measure_own_work(c);
    std::fill(span_loads_.begin(), span_loads_.end(), 0);
    if (weight_[c] > 0) level_loads_.loads(cluster_span(costs_, index_, clustering_, c), span_loads_);
    const auto value = [&](DeviceId d) { return span_loads_[d] + own_work_[d] - traffic_.with_device(d); };
    DeviceId best = devices_.front();
    for (const DeviceId d : devices_) {
      const Nanoseconds difference = value(d) - value(best);
      if (difference < 0 || (difference == 0 && traffic_.with_device(d) > traffic_.with_device(best))) best = d;
    }
    return best;
  }

  const CostModel& costs_;
  const Graph& graph_;
  const Clustering& clustering_;
  const LevelIndex& index_;
  const MappingOptions& options_;
  std::vector<DeviceId> devices_;  // ascending
  ClusterTraffic traffic_;
  LevelLoads level_loads_;
  std::vector<Nanoseconds> total_loads_, span_loads_, own_work_;  // by device
  std::vector<Nanoseconds> weight_;                               // by cluster: compute time at speed 1
  std::vector<DeviceId> device_;                                  // by cluster
};

}  // namespace

std::vector<DeviceId> allowed_devices(const Machine& machine, DeviceId devices) {
  std::vector<DeviceId> allowed = fastest_first(machine);
  if (devices > 0 && devices < machine.num_devices()) allowed.resize(devices);
  std::sort(allowed.begin(), allowed.end());
  return allowed;
}

std::vector<DeviceId> map_clusters(const CostModel& costs, const Clustering& clustering, const LevelIndex& index,
                                   const MappingOptions& options) {
  return Mapper(costs, clustering, index, options).map();
}

std::vector<DeviceId> devices_of_nodes(const Graph& graph, const Clustering& clustering, const std::vector<DeviceId>& device_of_cluster) {
  std::vector<DeviceId> device(graph.num_nodes());
  for (NodeId v = 0; v < graph.num_nodes(); ++v) device[v] = device_of_cluster[clustering.of_unit[graph.unit(v)]];
  return device;
}

}  // namespace pardnn
