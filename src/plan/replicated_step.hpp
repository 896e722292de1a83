/// One step of hybrid data-parallel training: R replicas run the same placement of K devices, each on its own slice of the
/// machine, and reduce their gradients in buckets while the backward pass still runs.
///
/// Definition. The step is the emulated run of model.md of a larger graph on a larger machine, so that every time follows from there:
/// - For each *kind* of slice (slices.hpp) one copy of the graph on copies of its K devices. Replicas on alike slices run in lockstep:
///   one of them stands for all.
/// - For each device index p of the placement one *reducer*, a device beside the machine's own: it reduces one bucket at a time, in the order in
///   which buckets become ready (under `priority` too: those ready at once go in the order of buckets.hpp), while devices and ports work on.
/// - For each bucket b of p (buckets.hpp, filled from the step of one replica without reductions) a node on p's reducer that takes the time of a ring
///   all-reduce. It is ready when all of its gradients are complete in all replicas.
/// - What consumes a gradient g of b waits for b: an edge from g to v on the same device holds memory as before and stands beside a control edge from b to
///   v, without latency; an edge to another device q leaves from b instead, when b is reduced, over p's link to q (under `ports` it has the
///   reducer's own port). All that descends from g waits with v: clipping, updates.
/// Memory, as model.md has it in each copy, and beside it: g is held at least until b is reduced and the last delivery of g to
/// another device; a copy of g elsewhere is taken when b is reduced; and p holds the bytes of b while b is being reduced.
/// For R = 1 nothing is added: the step is the emulated run of the placement.
#pragma once

#include <span>
#include <vector>

#include "pardnn/emulate.hpp"
#include "pardnn/graph.hpp"
#include "pardnn/machine.hpp"
#include "plan/buckets.hpp"

namespace pardnn {

struct ReplicatedStep {
  Nanoseconds time = 0;                ///< from the start to the end of the last node or reduction, in any replica
  Nanoseconds time_alone = 0;          ///< of one replica (of the first slice) without reductions
  Nanoseconds greatest_reduction = 0;  ///< the most that one reducer is busy
  std::int64_t buckets = 0;
  Bytes reduced_bytes = 0;             ///< the bytes of all buckets: what each replica gives and gets
  std::vector<Bytes> peak;             ///< K: the greatest over the kinds of slices
  std::vector<Bytes> overflow;         ///< K: the greatest over the kinds of slices
  /// Start, finish and order of the nodes in the replica of the first slice: what a runtime follows.
  Schedule schedule;
};

/// `placement` on K devices; `slices`: R of them; `bucket_bytes` > 0. O(kinds (V + E) log V). Throws InputError if times would pass 2^62 ns.
ReplicatedStep emulate_replicas(const Graph& graph, std::span<const Gradient> gradients, const Machine& machine, std::span<const Slice> slices,
                                const Placement& placement, Policy policy, Bytes bucket_bytes);

}  // namespace pardnn
