/// The emulated run (model.md): one operation at a time per device, fifo or priority dispatch, free links or ports.
#pragma once

#include <span>
#include <vector>

#include "costs/cost_model.hpp"
#include "pardnn/emulate.hpp"

namespace pardnn {

/// Runs placements one after the other without allocating again: keep one per thread.
class Emulator {
 public:
  explicit Emulator(const CostModel& costs);

  /// Emulates `device` under `policy`; `priority` may be empty (bottom levels of the placed graph then).
  /// O((V + E) (log V + K / vector width)). The result stays valid until the next run.
  const Schedule& run(std::span<const DeviceId> device, Policy policy, std::span<const std::int64_t> priority = {});

  /// Delivery times of edges of the last run are needed by memory tracking under `ports` only.
  std::span<const Nanoseconds> delivered() const { return delivered_; }
  const CostModel& costs() const { return *costs_; }

 private:
  const CostModel* costs_;
  Schedule schedule_;
  std::vector<Nanoseconds> delivered_;
  std::vector<Nanoseconds> ready_;
  std::vector<std::int64_t> waiting_;
};

}  // namespace pardnn
