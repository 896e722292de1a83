/// Buckets: gradients of one device that are reduced together, and what a reduction over a ring of replicas costs.
#pragma once

#include <span>
#include <vector>

#include "pardnn/emulate.hpp"
#include "pardnn/machine.hpp"
#include "plan/gradients.hpp"
#include "plan/slices.hpp"

namespace pardnn {

struct Bucket {
  DeviceId device = 0;            ///< of the placement, in every replica
  std::vector<NodeId> gradients;  ///< in the order in which they complete
  Bytes bytes = 0;
};

/// Fills buckets of at most `limit` bytes (a larger gradient is alone) on each device in the order in which the gradients complete in `run`, the step of
/// one replica without reductions (ties: the one that started first). A bucket holds gradients of one wave only, so that none waits for
/// another of its own bucket. Buckets by (device, wave, completion). O(V + gradients log gradients).
std::vector<Bucket> fill_buckets(std::span<const Gradient> gradients, std::span<const DeviceId> device, const Schedule& run, Bytes limit);

/// A ring all-reduce (Patarasuk, Yuan 2009) of `bytes` over the device that stands at `position` of each slice, in the order of the slices: 2 (R - 1) steps, each
/// of the greatest latency of the ring and of bytes / R at its least bandwidth. ceil(2 (R - 1) bytes 10^9 / (R bandwidth)) + 2 (R - 1) latency ns; 0 for R = 1. O(R).
Nanoseconds ring_all_reduce_time(const Machine& machine, std::span<const Slice> slices, DeviceId position, Bytes bytes);

}  // namespace pardnn
