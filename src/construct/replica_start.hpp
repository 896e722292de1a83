/// Starts that lay replicas (micro-batches) over devices, as data parallelism, pipelines and mixtures of both do.
#pragma once

#include "construct/affinity.hpp"
#include "construct/constructed.hpp"
#include "construct/replicas.hpp"

namespace pardnn {

struct ReplicaLayout {
  /// The model is cut into so many stages of equal work, each for num_devices / stages devices: 1 is pure data
  /// parallelism, num_devices a pipeline. 1 <= stages <= num_devices.
  DeviceId stages = 1;
  /// Replicas stay whole within a stage (the longest to the least loaded device); else devices are filled to equal loads
  /// and a replica may be cut between two of its groups (R. McNaughton's wrap-around rule, 1959).
  bool whole = false;
  /// Sums over replicas are built step by step where the replicas are; else where the parameter is.
  bool sum_on_the_way = true;
};

/// What many replicas share (parameters, accumulation, updates) goes in whole affinity groups to the least loaded device of
/// its stage, the longest first. Pinned units stay where they must. O((V + E) log V).
Constructed replica_start(const CostModel& costs, const AffinityGroups& groups, const Replicas& replicas, const ReplicaLayout& layout);

}  // namespace pardnn
