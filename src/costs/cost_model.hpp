/// What a graph costs on a machine (model.md, Cost): durations and transfer times, computed once, looked up everywhere.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pardnn/graph.hpp"
#include "pardnn/machine.hpp"

namespace pardnn {

/// Throws InputError that names the first node pinned to a device that `machine` lacks: no placement is legal then. O(pins).
void require_pinned_devices(const Graph& graph, const Machine& machine);

/// Keeps references to `graph` and `machine`: both must outlive it. Devices of equal speed share one array of
/// durations, links of equal bandwidth one array of transfer times (a few kinds; beyond that times are computed on the fly).
class CostModel {
 public:
  /// O((V + E) * kinds). Throws InputError if a worst-case serial run would pass 2^62 ns.
  CostModel(const Graph& graph, const Machine& machine);

  const Graph& graph() const { return *graph_; }
  const Machine& machine() const { return *machine_; }
  DeviceId num_devices() const { return devices_; }

  /// dur(v, d): ns of node v on device d.
  Nanoseconds duration(NodeId v, DeviceId d) const {
    const std::span<const Nanoseconds> known = durations_[speed_kind_[d]];
    return known.empty() ? ceil_mul_div(graph_->comp(v), kOne, machine_->devices[d].speed) : known[v];
  }
  /// Time on the wire without latency, from p to q != p.
  Nanoseconds transfer(EdgeId e, DeviceId p, DeviceId q) const {
    const std::size_t kind = link_kind_[machine_->link(p, q)];
    return kind < transfers_.size() ? transfers_[kind][e] : transfer_time(graph_->bytes(e), machine_->bandwidth[machine_->link(p, q)]);
  }
  Nanoseconds latency(DeviceId p, DeviceId q) const { return machine_->latency[machine_->link(p, q)]; }
  /// c(e, p, q): 0 on one device, else latency + transfer.
  Nanoseconds cost(EdgeId e, DeviceId p, DeviceId q) const {
    return p == q ? 0 : latency(p, q) + transfer(e, p, q);
  }
  /// comm(e): floor of the mean of c over ordered pairs of different devices; 0 for K = 1.
  Nanoseconds mean_cost(EdgeId e) const {
    if (!mean_storage_.empty()) return mean_storage_[e];
    return transfers_.empty() ? 0 : mean_latency_ + transfers_[0][e];
  }
  /// True if all links and all speeds are equal: cost(e, p, q) == mean_cost(e) for p != q, duration(v, d) is the same on all d.
  bool is_homogeneous() const { return homogeneous_; }

 private:
  void index_speeds();
  void index_links();

  const Graph* graph_;
  const Machine* machine_;
  DeviceId devices_;
  bool homogeneous_;
  std::vector<std::uint32_t> speed_kind_;   // K
  std::vector<std::uint32_t> link_kind_;    // K x K
  std::vector<std::span<const Nanoseconds>> durations_;  // by speed kind; speed 1 points into the graph
  std::vector<std::vector<Nanoseconds>> duration_storage_;
  std::vector<std::vector<Nanoseconds>> transfers_;      // by link kind
  std::vector<Nanoseconds> mean_storage_;                // empty if all links are equal
  Nanoseconds mean_latency_ = 0;                         // then: the latency of all links
};

}  // namespace pardnn
