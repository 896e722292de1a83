/// The emulated run (model.md): one operation at a time per device, fifo or priority dispatch, free links or ports.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "costs/cost_model.hpp"
#include "emulation/ready_heap.hpp"
#include "pardnn/emulate.hpp"

namespace pardnn {

/// Runs placements one after the other without allocating again: keep one per thread.
class Emulator {
 public:
  explicit Emulator(const CostModel& costs);

  /// Emulates `device` under `policy`; `priority` may be empty (bottom levels of the placed graph then).
  /// The result stays valid until the next run. O((V + E) (log V + K)), with small constants for K up to some hundreds.
  const Schedule& run(std::span<const DeviceId> device, Policy policy, std::span<const std::int64_t> priority = {});

  /// The same, but given up as soon as it is certain that the makespan exceeds `limit`: false then, and the schedule
  /// means nothing. `tail[v]`: a lower bound on the time from v's start to the makespan.
  bool run_within(std::span<const DeviceId> device, Policy policy, std::span<const std::int64_t> priority,
                  Nanoseconds limit, std::span<const Nanoseconds> tail);

  const Schedule& schedule() const { return schedule_; }
  /// Delivery time of each edge of the last run. Filled under Links::ports only.
  std::span<const Nanoseconds> delivered() const { return delivered_; }
  /// Latest delivery of each node's inputs in the last run.
  std::span<const Nanoseconds> ready() const { return ready_; }
  const CostModel& costs() const { return *costs_; }

 private:
  struct Sent {
    DeviceId to;
    std::int32_t output;
    EdgeId edge;
    Bytes bytes;
    Nanoseconds delivered;
  };

  void reset();
  void complete(DeviceId p, Nanoseconds now);
  void deliver_free(NodeId u, DeviceId p, Nanoseconds now);
  void deliver_ports(NodeId u, DeviceId p, Nanoseconds now);
  void deliver(NodeId v, Nanoseconds at);
  void enter(NodeId v);
  bool start_head(DeviceId d, Nanoseconds now);
  void admit_arrived(DeviceId d, Nanoseconds now);
  Nanoseconds next_start(DeviceId d) const;

  const CostModel* costs_;
  const Graph* graph_;
  bool ports_;

  // Inputs of the current run.
  std::span<const DeviceId> device_;
  std::span<const std::int64_t> priority_;
  std::span<const Nanoseconds> tail_;
  Policy policy_ = Policy::fifo;
  Nanoseconds limit_ = 0;

  Schedule schedule_;
  std::vector<Nanoseconds> delivered_, ready_;
  std::vector<std::int64_t> missing_;      // predecessors not yet completed
  std::vector<std::int64_t> bottom_levels_;
  std::vector<ReadyHeap> arriving_;        // by ready time; under fifo this is the queue itself
  std::vector<ReadyHeap> queue_;           // by priority, under Policy::priority
  std::vector<Nanoseconds> event_;         // by device: when something happens there next
  std::vector<NodeId> running_;            // by device: -1 if idle
  std::vector<Nanoseconds> port_free_;
  std::vector<Sent> sent_;
};

}  // namespace pardnn
