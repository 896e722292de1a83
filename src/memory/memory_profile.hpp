/// Memory of an emulated run (model.md, Memory): residuals, buffers with their aliases, copies, workspace.
#pragma once

#include <span>
#include <vector>

#include "emulation/emulator.hpp"

namespace pardnn {

/// Why bytes are held on a device.
enum class HoldingKind { residual, buffer, copy, workspace };

/// Bytes held on one device over [from, to).
struct Holding {
  HoldingKind kind;
  DeviceId device;
  Nanoseconds from, to;
  Bytes bytes;
  /// The root of the buffer; for a copy the member whose output was sent; for workspace the running node.
  NodeId owner;
};

struct MemoryPeaks {
  std::vector<Bytes> peak;             ///< K
  std::vector<Nanoseconds> peak_time;  ///< K: the earliest time at which the peak is reached
  std::vector<Bytes> residual;         ///< K: held at all times
};

/// Turns runs into holdings and peaks without allocating again: keep one per thread.
class MemoryTracker {
 public:
  explicit MemoryTracker(const CostModel& costs);

  /// Peaks of a run; `delivered` is Emulator::delivered() (read under Links::ports only). O((V + E) log V).
  const MemoryPeaks& track(std::span<const DeviceId> device, const Schedule& schedule, std::span<const Nanoseconds> delivered);

  /// After track(): calls visit(time, bytes held from then on) for device d, at 0 and wherever it changes, in order of time. O(changes).
  template <typename Visit>
  void visit_levels(DeviceId d, Visit&& visit) const;

  /// Calls visit(Holding) for everything that is held for longer than no time, residuals with [0, kSumLimit). O((V + E) log degree).
  template <typename Visit>
  void visit_holdings(std::span<const DeviceId> device, const Schedule& schedule, std::span<const Nanoseconds> delivered,
                      Visit&& visit);

 private:
  struct Copy {
    DeviceId to;
    std::int32_t output;
    Bytes bytes;
    Nanoseconds until;
  };
  struct Event {
    Nanoseconds time;
    Bytes bytes;
  };

  /// Latest time at which v's own device needs v's output; v's copies go to copies_.
  Nanoseconds scan_consumers(NodeId v, std::span<const DeviceId> device, const Schedule& schedule,
                             std::span<const Nanoseconds> delivered);
  void sum_events(DeviceId d);

  const CostModel* costs_;
  const Graph* graph_;
  MemoryPeaks peaks_;
  std::vector<Copy> copies_;
  std::vector<Nanoseconds> buffer_end_;  // by root; only with aliases
  std::vector<std::vector<Event>> events_;
};

template <typename Visit>
void MemoryTracker::visit_levels(DeviceId d, Visit&& visit) const {
  const std::vector<Event>& events = events_[d];  // sorted by track()
  Bytes held = peaks_.residual[d];
  if (events.empty() || events.front().time > 0) visit(Nanoseconds{0}, held);
  for (std::size_t i = 0; i < events.size();) {
    const Nanoseconds time = events[i].time;
    const Bytes before = held;
    for (; i < events.size() && events[i].time == time; ++i) held += events[i].bytes;
    if (held != before || time == 0) visit(time, held);
  }
}

template <typename Visit>
void MemoryTracker::visit_holdings(std::span<const DeviceId> device, const Schedule& schedule,
                                   std::span<const Nanoseconds> delivered, Visit&& visit) {
  const bool aliases = graph_->has_aliases();
  if (aliases) buffer_end_.assign(static_cast<std::size_t>(graph_->num_nodes()), 0);
  const auto buffer = [&](NodeId root, Nanoseconds end) {
    if (graph_->kind(root) == NodeKind::normal && graph_->mem(root) > 0 && end > schedule.start[root]) {
      visit(Holding{HoldingKind::buffer, device[root], schedule.start[root], end, graph_->mem(root), root});
    }
  };
  for (const NodeId v : schedule.start_order) {
    const Nanoseconds end = scan_consumers(v, device, schedule, delivered);
    if (graph_->is_residual(v)) {
      if (graph_->mem(v) > 0) visit(Holding{HoldingKind::residual, device[v], 0, kSumLimit, graph_->mem(v), v});
    } else if (!aliases) {
      buffer(v, end);
    }
    if (aliases) buffer_end_[graph_->root(v)] = std::max(buffer_end_[graph_->root(v)], end);
    for (const Copy& copy : copies_) {
      if (copy.until > schedule.finish[v]) {
        visit(Holding{HoldingKind::copy, copy.to, schedule.finish[v], copy.until, copy.bytes, v});
      }
    }
    if (graph_->temp(v) > 0 && schedule.finish[v] > schedule.start[v]) {
      visit(Holding{HoldingKind::workspace, device[v], schedule.start[v], schedule.finish[v], graph_->temp(v), v});
    }
  }
  if (!aliases) return;
  for (const NodeId v : schedule.start_order) {
    if (graph_->root(v) == v) buffer(v, buffer_end_[v]);
  }
}

}  // namespace pardnn
