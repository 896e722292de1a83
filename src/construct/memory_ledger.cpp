#include "construct/memory_ledger.hpp"

#include <algorithm>
#include <limits>

namespace pardnn {

MemoryLedger::MemoryLedger(const CostModel& costs, std::span<const Bytes> budget)
    : costs_(&costs),
      budget_(budget.begin(), budget.end()),
      residual_(budget.size(), 0),
      live_(budget.size(), 0),
      peak_(budget.size(), 0),
      peak_time_(budget.size(), -1),
      unit_residual_(graph().num_units(), 0),
      unit_charged_(graph().num_units(), 0),
      left_(graph().num_nodes(), 0),
      words_((static_cast<std::int64_t>(budget.size()) + 63) / 64),
      here_(budget.size(), 0),
      older_(budget.size(), 0) {
  const Graph& g = graph();
  for (NodeId v = 0; v < g.num_nodes(); ++v) {
    if (g.is_residual(v) && g.root(v) == v) unit_residual_[g.unit(v)] += g.mem(v);
    std::int64_t& left = left_[g.root(v)];
    ++left;
    for (EdgeId e = g.out_begin(v); e < g.out_end(v); ++e) left += g.bytes(e) > 0;
  }
  build_slots();
}

void MemoryLedger::build_slots() {
  const Graph& g = graph();
  std::int64_t slots = g.num_nodes();
  if (g.has_outputs()) {
    slot_of_edge_.resize(g.num_edges());
    slots = 0;
    std::vector<EdgeId> edges;
    for (NodeId u = 0; u < g.num_nodes(); ++u) {
      edges.clear();
      for (EdgeId e = g.out_begin(u); e < g.out_end(u); ++e) edges.push_back(e);
      std::sort(edges.begin(), edges.end(), [&g](EdgeId a, EdgeId b) { return g.output(a) < g.output(b); });
      for (std::size_t i = 0; i < edges.size(); ++i) {
        if (i == 0 || g.output(edges[i]) != g.output(edges[i - 1])) ++slots;
        slot_of_edge_[edges[i]] = slots - 1;
      }
    }
  }
  slot_bytes_.assign(slots, 0);
  slot_counts_.assign(slots, -1);
  std::vector<std::int32_t> consumers(slots, 0);
  for (NodeId u = 0; u < g.num_nodes(); ++u) {
    for (EdgeId e = g.out_begin(u); e < g.out_end(u); ++e) {
      const std::int64_t s = slot(u, e);
      slot_bytes_[s] = std::max(slot_bytes_[s], g.bytes(e));
      consumers[s] += g.bytes(e) > 0;
    }
  }
  std::int64_t shared = 0;
  for (std::int64_t s = 0; s < slots; ++s) {
    if (consumers[s] > 1) slot_counts_[s] = shared++ * static_cast<std::int64_t>(budget_.size());
  }
  counts_.assign(shared * static_cast<std::int64_t>(budget_.size()), 0);
  holders_.assign(slots * words_, 0);
}

void MemoryLedger::assess(NodeId v, std::span<const DeviceId> unit_device, std::span<const Nanoseconds> finish,
                          std::span<Bytes> over) {
  const Graph& g = graph();
  const std::size_t devices = budget_.size();
  const UnitId unit = g.unit(v);
  const Bytes residual = unit_charged_[unit] != 0 ? 0 : unit_residual_[unit];
  const Bytes own = (g.root(v) == v && g.kind(v) == NodeKind::normal ? g.mem(v) : 0) + g.temp(v);
  // Copies that v needs: all of them, less those of inputs that are on the device already.
  Bytes copies = 0, along = 0;
  std::fill(here_.begin(), here_.end(), 0);
  std::fill(older_.begin(), older_.end(), 0);
  for (EdgeId i = g.in_begin(v); i < g.in_end(v); ++i) {
    const NodeId u = g.source(i);
    const EdgeId e = g.in_edge(i);
    if (g.bytes(e) == 0) continue;
    const UnitId input_unit = g.unit(u);
    const DeviceId home = unit_device[input_unit];
    if (home == kNoDevice) {  // a lazy input: its residuals, or its buffer, come along
      if (input_unit != unit && unit_charged_[input_unit] == 0) along += unit_residual_[input_unit];
      if (g.root(u) == u && g.kind(u) == NodeKind::normal) along += g.mem(u);
      continue;
    }
    const std::int64_t s = slot(u, e);
    const Bytes bytes = slot_bytes_[s];
    copies += bytes;
    here_[home] += bytes;
    for (std::int64_t w = 0; w < words_; ++w) {
      for (std::uint64_t bits = holders_[s * words_ + w]; bits != 0; bits &= bits - 1) {
        here_[w * 64 + __builtin_ctzll(bits)] += bytes;
      }
    }
    for (std::size_t d = 0; d < devices; ++d) {
      if (static_cast<DeviceId>(d) != home && finish[u] <= peak_time_[d] && !holds(s, static_cast<DeviceId>(d))) older_[d] += bytes;
    }
  }
  for (std::size_t d = 0; d < devices; ++d) {
    const Bytes now = residual_[d] + live_[d] + residual + along + own + copies - here_[d];
    const Bytes before = peak_[d] + residual + along + older_[d];
    over[d] = std::max<Bytes>(0, std::max(now, before) - budget_[d]);
  }
}

void MemoryLedger::charge_unit(UnitId unit, DeviceId d) {
  if (unit_charged_[unit] != 0) return;
  unit_charged_[unit] = 1;
  residual_[d] += unit_residual_[unit];
  peak_[d] += unit_residual_[unit];
}

void MemoryLedger::note_peak(DeviceId d, Bytes extra, Nanoseconds now) {
  const Bytes sum = residual_[d] + live_[d] + extra;
  if (sum <= peak_[d]) return;
  peak_[d] = sum;
  peak_time_[d] = now;
}

void MemoryLedger::release(NodeId root, DeviceId home) {
  if (--left_[root] == 0 && graph().kind(root) == NodeKind::normal) live_[home] -= graph().mem(root);
}

void MemoryLedger::place(NodeId v, DeviceId d, std::span<const DeviceId> unit_device,
                         std::span<const Nanoseconds> finish, Nanoseconds now) {
  const Graph& g = graph();
  charge_unit(g.unit(v), d);
  if (g.root(v) == v && g.kind(v) == NodeKind::normal) live_[d] += g.mem(v);
  Bytes older = 0;
  for (EdgeId i = g.in_begin(v); i < g.in_end(v); ++i) {
    const NodeId u = g.source(i);
    const EdgeId e = g.in_edge(i);
    const DeviceId home = unit_device[g.unit(u)];
    if (g.bytes(e) == 0 || home == d) continue;
    const std::int64_t s = slot(u, e);
    if (!holds(s, d)) {
      live_[d] += slot_bytes_[s];
      if (finish[u] <= peak_time_[d]) older += slot_bytes_[s];
      holders_[s * words_ + d / 64] |= std::uint64_t{1} << (d % 64);
    }
    if (slot_counts_[s] >= 0) ++counts_[slot_counts_[s] + d];
  }
  peak_[d] += older;
  note_peak(d, g.temp(v), now);
  for (EdgeId i = g.in_begin(v); i < g.in_end(v); ++i) {
    const NodeId u = g.source(i);
    const DeviceId home = unit_device[g.unit(u)];
    if (g.bytes(g.in_edge(i)) > 0 && home != d) release(g.root(u), home);
  }
}

void MemoryLedger::end(NodeId v, DeviceId d, std::span<const DeviceId> unit_device) {
  const Graph& g = graph();
  for (EdgeId i = g.in_begin(v); i < g.in_end(v); ++i) {
    const NodeId u = g.source(i);
    const EdgeId e = g.in_edge(i);
    if (g.bytes(e) == 0) continue;
    const DeviceId home = unit_device[g.unit(u)];
    if (home == d) {
      release(g.root(u), home);
      continue;
    }
    const std::int64_t s = slot(u, e);
    if (slot_counts_[s] >= 0 && --counts_[slot_counts_[s] + d] > 0) continue;
    live_[d] -= slot_bytes_[s];
    holders_[s * words_ + d / 64] &= ~(std::uint64_t{1} << (d % 64));
  }
  release(g.root(v), d);
}

}  // namespace pardnn
