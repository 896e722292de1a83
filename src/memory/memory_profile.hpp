/// Memory of an emulated run (model.md, Memory): residuals, buffers with their aliases, copies, temp.
#pragma once

#include <span>
#include <vector>

#include "emulation/emulator.hpp"

namespace pardnn {

struct MemoryPeaks {
  std::vector<Bytes> peak;            ///< K
  std::vector<Nanoseconds> peak_time; ///< K: the earliest time at which the peak is reached
};

/// Peaks on every device. `delivered` is Emulator::delivered() of that run (may be empty under free links). O((V + E) log V).
MemoryPeaks memory_peaks(const CostModel& costs, std::span<const DeviceId> device, const Schedule& schedule,
                         std::span<const Nanoseconds> delivered);

}  // namespace pardnn
