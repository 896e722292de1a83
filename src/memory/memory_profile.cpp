#include "memory/memory_profile.hpp"

#include <algorithm>

namespace pardnn {

MemoryTracker::MemoryTracker(const CostModel& costs) : costs_(&costs), graph_(&costs.graph()) {
  const std::size_t devices = static_cast<std::size_t>(costs.num_devices());
  peaks_.peak.resize(devices);
  peaks_.peak_time.resize(devices);
  peaks_.residual.resize(devices);
  events_.resize(devices);
}

Nanoseconds MemoryTracker::scan_consumers(NodeId v, std::span<const DeviceId> device, const Schedule& schedule,
                                          std::span<const Nanoseconds> delivered) {
  const DeviceId p = device[v];
  const bool ports = !delivered.empty();
  Nanoseconds end = schedule.finish[v];
  copies_.clear();
  for (EdgeId e = graph_->out_begin(v); e < graph_->out_end(v); ++e) {
    const Bytes bytes = graph_->bytes(e);
    if (bytes == 0) continue;
    const NodeId u = graph_->target(e);
    const DeviceId q = device[u];
    if (q == p) {
      end = std::max(end, schedule.finish[u]);
      continue;
    }
    end = std::max(end, ports ? delivered[e] : schedule.finish[v] + costs_->cost(e, p, q));
    copies_.push_back({q, graph_->output(e), bytes, schedule.finish[u]});
  }
  if (copies_.size() < 2) return end;
  std::sort(copies_.begin(), copies_.end(), [](const Copy& a, const Copy& b) {
    return a.to != b.to ? a.to < b.to : a.output < b.output;
  });
  std::size_t kept = 0;
  for (std::size_t i = 1; i < copies_.size(); ++i) {
    if (copies_[i].to == copies_[kept].to && copies_[i].output == copies_[kept].output) {
      copies_[kept].bytes = std::max(copies_[kept].bytes, copies_[i].bytes);
      copies_[kept].until = std::max(copies_[kept].until, copies_[i].until);
    } else {
      copies_[++kept] = copies_[i];
    }
  }
  copies_.resize(kept + 1);
  return end;
}

/// The greatest prefix sum of d's events, events of one time taken together.
void MemoryTracker::sum_events(DeviceId d) {
  std::vector<Event>& events = events_[d];
  std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.time < b.time; });
  Bytes held = peaks_.residual[d];
  peaks_.peak[d] = held;
  peaks_.peak_time[d] = 0;
  for (std::size_t i = 0; i < events.size();) {
    const Nanoseconds time = events[i].time;
    for (; i < events.size() && events[i].time == time; ++i) held += events[i].bytes;
    if (held > peaks_.peak[d]) {
      peaks_.peak[d] = held;
      peaks_.peak_time[d] = time;
    }
  }
}

const MemoryPeaks& MemoryTracker::track(std::span<const DeviceId> device, const Schedule& schedule,
                                        std::span<const Nanoseconds> delivered) {
  for (auto& events : events_) events.clear();
  std::fill(peaks_.residual.begin(), peaks_.residual.end(), 0);
  visit_holdings(device, schedule, delivered, [this](const Holding& holding) {
    if (holding.kind == HoldingKind::residual) {
      peaks_.residual[holding.device] += holding.bytes;
    } else {
      events_[holding.device].push_back({holding.from, holding.bytes});
      events_[holding.device].push_back({holding.to, -holding.bytes});
    }
  });
  for (DeviceId d = 0; d < costs_->num_devices(); ++d) sum_events(d);
  return peaks_;
}

}  // namespace pardnn
