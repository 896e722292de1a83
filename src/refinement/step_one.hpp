/// Step 1 of the paper in one call: slicing, mapping, refinement.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "costs/cost_model.hpp"
#include "pardnn/progress.hpp"

namespace pardnn {

struct StepOneOptions {
  /// Refinement by swapping clusters; by switching nodes along the critical path.
  bool swap = true;
  bool switch_ = true;
  /// LALB if true, GLB (blind to levels and communication) if not.
  bool level_aware = true;
  bool initial_merge = true;
  /// Use only so many devices, the fastest first (0: all).
  DeviceId devices = 0;
  /// Relative noise on node weights while slicing (0: none), and its seed: variants for a search.
  Millionths jitter = 0;
  std::uint64_t jitter_seed = 0;
  /// If set: called with the placement after mapping (answer ignored), then after each refinement that changed something; `false` drops that
  /// refinement. So a driver can keep only what the emulated run confirms.
  std::function<bool(std::span<const DeviceId>)> confirm = {};
};

/// The device of each node: every unit on one device, pins respected. Stages are reported to `progress` (may be null) and timed
/// into `stages` (may be null). O(K (V + E) + V log V + clusters K log V); independent of threads.
std::vector<DeviceId> paper_step_one(const CostModel& costs, const StepOneOptions& options, Progress* progress = nullptr,
                                     std::vector<StageTime>* stages = nullptr);

}  // namespace pardnn
