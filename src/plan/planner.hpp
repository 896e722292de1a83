/// Every split of a machine into R replicas of K devices, partitioned, emulated with its gradient reductions, and ranked.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "pardnn/graph.hpp"
#include "pardnn/machine.hpp"
#include "pardnn/options.hpp"
#include "plan/replicated_step.hpp"
#include "plan/slices.hpp"

namespace pardnn {

struct PlanOptions {
  Options partition;                      ///< for each placement; `start` is not used
  Bytes bucket_bytes = 25'000'000;        ///< > 0; what PyTorch's DistributedDataParallel takes
  std::vector<DeviceId> devices_per_replica;  ///< the K to try, ascending; empty: default_splits()
};

/// One split. What is timed is the emulated step of replicated_step.hpp.
struct PlanRow {
  int replicas = 0;
  DeviceId devices = 0;  ///< of one replica
  std::vector<Slice> slices;
  ReplicatedStep step;
  bool fits = false;
  bool cannot_fit = false;    ///< proven: no placement of one replica fits on any of the slices
  int distinct_slices = 1;    ///< placements that were made for this K: the best of them stands here
  std::string method;

  /// For people; 0 if the step takes no time.
  double samples_per_second(std::int64_t samples_per_step) const;
};

/// True if `a` is the better plan: fits first; then more samples per second (exactly: R_a time_b > R_b time_a), or, where neither fits, less
/// overflow; then fewer devices in use; then fewer per replica.
bool is_better_plan(const PlanRow& a, const PlanRow& b);

/// The K that are tried where nobody names any: all up to 16 devices; beyond that those that divide the number of devices or of the devices of a host.
std::vector<DeviceId> default_splits(const Machine& machine);

struct PlanInputs {
  const Graph& graph;
  const std::vector<Gradient>& gradients;
  const Machine& machine;
};

/// For each K the replicas end at the border of host 1, 2, 4, ... or the last: with 4 hosts of 8 and K = 4 there are rows for 2, 4 and 8 replicas. Without gradients
/// (a graph that names none) only R = 1 is judged: nobody knows what to reduce. K below a pinned device is left out. Rows come by `visit(row, placement)` as they are
/// judged: K ascending, then R ascending. Ends early when `options.partition.should_stop` says so; true if it ran to its end.
/// Throws InputError if no K is left.
bool plan_splits(const PlanInputs& inputs, const PlanOptions& options, const std::function<void(PlanRow row, const Placement& placement)>& visit);

}  // namespace pardnn
