/// Re-runs of a part of an emulated run: what a small change does near the place where it is made.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "emulation/event_loop.hpp"
#include "pardnn/emulate.hpp"

namespace pardnn {

/// A node that must start earlier than it did.
struct Watch {
  NodeId node;
  Nanoseconds start;  ///< its start in the base run
};

/// Keeps one whole run (the base) with snapshots on the way.
class PartialRun {
 public:
  PartialRun(const CostModel& costs, Policy policy);

  /// Makes the run of `device` the base. `priority` may be empty only under fifo. O(V + E) log V plus the snapshots.
  void rebase(std::span<const DeviceId> device, std::span<const std::int64_t> priority);

  const Schedule& schedule() const { return schedule_; }
  std::span<const Nanoseconds> ready() const { return ready_; }
  std::span<const Nanoseconds> delivered() const { return delivered_; }

  /// When v's last input was produced in the base run: nothing about v matters to the run before that. 0 for a source.
  Nanoseconds enter_time(NodeId v) const;

  /// Latest start of each node that leaves the makespan of the base as it is, if devices keep their order and links their
  /// times: 0 slack along the critical chain. O(V + E).
  void latest_starts(std::span<const DeviceId> device, std::vector<Nanoseconds>& latest) const;

 private:
  friend class Probes;
  struct BaseNodes;
  struct Snapshot {
    Nanoseconds time;  ///< all events before this time are over, none at it
    DeviceStates devices;
  };

  const CostModel* costs_;
  const Graph* graph_;
  Policy policy_;
  std::vector<NodeId> sources_;
  Schedule schedule_;
  std::vector<Nanoseconds> ready_, delivered_;
  std::vector<std::int64_t> missing_;
  std::vector<Snapshot> snapshots_;
  std::size_t used_snapshots_ = 0;
  DeviceStates devices_;
};

/// Probes changes of a base from the snapshot before the change on. One per thread; the base may be shared.
class Probes {
 public:
  /// `base` must outlive it, and may be rebased between probes.
  explicit Probes(const PartialRun& base);

  /// Runs `device` and `priority` (the base with some changes that matter from time `from` on) and says whether each
  /// watched node starts earlier than in the base, in the order given. Stops at the first that does not, or after the last.
  /// Also stops, with false, at a node that starts later than `latest` allows (V; kNever where it may).
  /// Nodes that the base had started before `from` count as they were. Exact if no change matters earlier than `from`.
  /// Cost: the nodes that start between the snapshot before `from` and the last watch.
  bool all_earlier(std::span<const DeviceId> device, std::span<const std::int64_t> priority, Nanoseconds from,
                   std::span<const Watch> watches, std::span<const Nanoseconds> latest);

  /// Nodes started in probes so far: the unit in which their cost is counted.
  std::int64_t started() const { return started_; }

 private:
  struct Nodes;

  const PartialRun* base_;
  // Per node values are valid where the stamp is that of the probe.
  std::vector<std::uint32_t> stamp_, watch_stamp_;
  std::vector<Nanoseconds> ready_, delivered_, start_;
  std::vector<std::int64_t> missing_;
  std::uint32_t probe_ = 0;
  DeviceStates devices_;
  std::int64_t started_ = 0;
};

}  // namespace pardnn
