/// A running estimate of the bytes that live on each device while a list scheduler places nodes in time order.
///
/// Follows model.md (residuals always; a buffer until its last local consumer ends; one copy per output and device) with three departures, as the
/// future is unknown: a node's buffer counts from its placement rather than its start, a buffer stays at home until its last consumer is
/// placed, and a copy that a late consumer causes is added to the greatest sum so far if the tensor is older than that.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "costs/cost_model.hpp"

namespace pardnn {

class MemoryLedger {
 public:
  /// Keeps a reference to `costs`. `budget`: K usable bytes. O(V + E log degree).
  MemoryLedger(const CostModel& costs, std::span<const Bytes> budget);

  /// over[d] = by how many bytes v on d would pass d's budget, now or at the greatest sum so far; 0 where it fits. All predecessors of v with bytes
  /// are placed, except those that `waits` marks (V or empty), which will come along with v. `finish`: planned finish of nodes. O(in-degree K).
  void assess(NodeId v, std::span<const DeviceId> unit_device, std::span<const Nanoseconds> finish, std::span<Bytes> over);

  /// v is on d from now on; its placed predecessors are where unit_device says. O(in-degree).
  void place(NodeId v, DeviceId d, std::span<const DeviceId> unit_device, std::span<const Nanoseconds> finish,
             Nanoseconds now);
  /// v has ended on d: what it was the last to use is gone. O(in-degree).
  void end(NodeId v, DeviceId d, std::span<const DeviceId> unit_device);
  /// The residuals of v's unit are on d from the beginning. Does nothing the second time. O(1).
  void charge_unit(UnitId unit, DeviceId d);

  Bytes residual(DeviceId d) const { return residual_[d]; }
  Bytes live(DeviceId d) const { return live_[d]; }
  /// The greatest sum so far.
  Bytes peak(DeviceId d) const { return peak_[d]; }

 private:
  const Graph& graph() const { return costs_->graph(); }
  /// The copy that edge e of u needs: one for each distinct output.
  std::int64_t slot(NodeId u, EdgeId e) const { return slot_of_edge_.empty() ? u : slot_of_edge_[e]; }
  bool holds(std::int64_t s, DeviceId d) const {
    return (holders_[s * words_ + d / 64] >> (d % 64) & 1U) != 0;
  }
  void release(NodeId root, DeviceId home);
  void note_peak(DeviceId d, Bytes extra, Nanoseconds now);
  void build_slots();

  const CostModel* costs_;
  std::vector<Bytes> budget_;
  std::vector<Bytes> residual_, live_, peak_;
  std::vector<Nanoseconds> peak_time_;
  std::vector<Bytes> unit_residual_;
  std::vector<char> unit_charged_;
  std::vector<std::int64_t> left_;            // by root: members and consumers that still hold the buffer at home
  std::vector<std::int64_t> slot_of_edge_;    // by edge: its (source, output), where there are outputs
  std::vector<Bytes> slot_bytes_;             // greatest bytes of an edge of the slot
  std::vector<std::int64_t> slot_counts_;     // where the slot's counts per device begin; -1: it has one consumer
  std::vector<std::int32_t> counts_;          // consumers placed on a device and not ended
  std::int64_t words_ = 1;
  std::vector<std::uint64_t> holders_;        // by slot: devices with a copy
  std::vector<Bytes> here_, older_;           // scratch, K
};

}  // namespace pardnn
