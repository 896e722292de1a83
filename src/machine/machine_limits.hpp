/// What a machine may be; the same rules for files and command line.
#pragma once

#include "pardnn/machine.hpp"

namespace pardnn {

/// The two K x K matrices of links take 16 K^2 bytes: 256 MiB for this many devices.
inline constexpr DeviceId kMaxDevices = 4096;
/// Speeds are relative to the device that was measured; a factor beyond 10^6 either way is a mistake.
inline constexpr Millionths kMaxSpeed = 1'000'000 * kOne;

/// Throws InputError, without naming a file, if `machine` breaks a rule: number of devices, memory, speed, duplicate
/// or empty names, latency, bandwidth, headroom. O(K^2).
void check_machine(const Machine& machine);

}  // namespace pardnn
