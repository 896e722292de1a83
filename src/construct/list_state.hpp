/// What every list scheduler keeps while it runs: the device of each unit, planned times, inputs on their way, and the
/// sources that wait for their first consumer.
#pragma once

#include <span>
#include <vector>

#include "construct/constructed.hpp"
#include "construct/list_options.hpp"
#include "costs/cost_model.hpp"

namespace pardnn {

/// Nodes of zero duration without predecessors, or with none but such (1), all others (0). O(V + E).
std::vector<char> lazy_nodes(const Graph& graph);

class ListState {
 public:
  /// Keeps references to `costs` and `options`. O(V + E).
  ListState(const CostModel& costs, const ListOptions& options);

  const CostModel& costs() const { return *costs_; }
  const Graph& graph() const { return costs_->graph(); }
  DeviceId num_devices() const { return costs_->num_devices(); }
  /// Devices that free units may use.
  std::span<const DeviceId> devices() const { return devices_; }

  /// The device of v's unit, kNoDevice while it has none.
  DeviceId device(NodeId v) const { return unit_device_[graph().unit(v)]; }
  std::span<const DeviceId> unit_devices() const { return unit_device_; }
  std::span<const Nanoseconds> finishes() const { return finish_; }
  bool is_lazy(NodeId v) const { return !lazy_.empty() && lazy_[v] != 0; }
  bool has_lazy() const { return !lazy_.empty(); }
  bool is_planned(NodeId v) const { return start_[v] >= 0; }
  Nanoseconds start(NodeId v) const { return start_[v]; }
  Nanoseconds finish(NodeId v) const { return finish_[v]; }

  /// Predecessors of v that must be planned before it: all but lazy ones. O(in-degree).
  std::int64_t num_awaited(NodeId v) const;
  bool is_awaited(NodeId u) const { return !is_lazy(u); }

  /// ready[d] = when v's inputs would be on device d, with transfers scaled by comm_weight, for every d. Returns the device of the
  /// input that is last for most devices, kNoDevice if there is none. O(in-degree + K); O(in-degree * K) on mixed links.
  DeviceId weighted_inputs(NodeId v, std::span<Nanoseconds> ready) const;
  /// When v's inputs are on device d. O(in-degree).
  Nanoseconds inputs_ready(NodeId v, DeviceId d) const;

  /// Gives v's unit to d if it has no device yet. True if it had none. O(1).
  bool give_device(NodeId v, DeviceId d) {
    DeviceId& device = unit_device_[graph().unit(v)];
    if (device != kNoDevice) return false;
    device = d;
    return true;
  }
  void set_times(NodeId v, Nanoseconds start, Nanoseconds finish) {
    start_[v] = start;
    finish_[v] = finish;
  }
  /// Plans the lazy predecessors of v that are not planned yet, and theirs, on d or on the device of their unit; appends
  /// them to `settled`, predecessors first. Amortised O(in-degree).
  void settle_inputs(NodeId v, DeviceId d, std::vector<NodeId>& settled);
  /// Plans the lazy nodes that no consumer claimed: on their unit's device, else on the first usable one. O(V + E).
  void settle_rest();

  /// Devices, and with plan_order priorities and times, of the finished plan. O(V log V).
  Constructed result() const;

 private:
  void settle(NodeId u, DeviceId d, std::vector<NodeId>& settled);
  Nanoseconds weighted(Nanoseconds cost) const {
    return comm_weight_ == kOne ? cost : static_cast<Nanoseconds>(scale(cost));
  }
  std::int64_t scale(Nanoseconds cost) const { return ceil_mul_div(cost, comm_weight_, kOne); }

  const CostModel* costs_;
  Millionths comm_weight_;
  bool uniform_, plan_order_;
  std::vector<DeviceId> devices_;
  std::vector<char> lazy_;
  std::vector<DeviceId> unit_device_;
  std::vector<Nanoseconds> start_, finish_;
  std::vector<NodeId> stack_;
};

}  // namespace pardnn
