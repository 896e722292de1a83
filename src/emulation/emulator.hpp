/// The emulated run (model.md): one operation at a time per device, fifo or priority dispatch, free links or ports.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "costs/cost_model.hpp"
#include "emulation/event_loop.hpp"
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
  struct Nodes;

  const CostModel* costs_;
  Schedule schedule_;
  std::vector<Nanoseconds> delivered_, ready_;
  std::vector<std::int64_t> missing_;  // predecessors not yet completed
  std::vector<std::int64_t> bottom_levels_;
  DeviceStates devices_;
};

}  // namespace pardnn
