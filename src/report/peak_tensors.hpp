/// What fills a device's memory at the moment of its peak.
#pragma once

#include <array>
#include <vector>

#include "report/emulated_run.hpp"

namespace pardnn {

struct PeakTensors {
  /// Bytes of each HoldingKind at the peak; their sum is the peak.
  std::array<Bytes, 4> by_kind{};
  /// The largest, largest first (ties: lower file id of the owner); residuals of all sizes compete with the others.
  std::vector<Holding> largest;
};

/// For each device, at most `count` holdings at the earliest moment of its peak. O((V + E) log count).
std::vector<PeakTensors> find_peak_tensors(EmulatedRun& run, std::size_t count);

}  // namespace pardnn
