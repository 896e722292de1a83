#include "construct/list_state.hpp"

#include <algorithm>
#include <numeric>

#include "construct/list_order.hpp"

namespace pardnn {

std::vector<char> lazy_nodes(const Graph& graph) {
  std::vector<char> lazy(graph.num_nodes());
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    char all = graph.comp(v) == 0;
    for (EdgeId i = graph.in_begin(v); all != 0 && i < graph.in_end(v); ++i) all = lazy[graph.source(i)];
    lazy[v] = all;
  }
  return lazy;
}

ListState::ListState(const CostModel& costs, const ListOptions& options)
    : costs_(&costs),
      comm_weight_(options.comm_weight),
      uniform_(costs.is_homogeneous()),
      plan_order_(options.plan_order),
      devices_(options.devices),
      unit_device_(costs.graph().num_units(), kNoDevice),
      start_(costs.graph().num_nodes(), -1),
      finish_(costs.graph().num_nodes(), 0) {
  if (devices_.empty()) {
    devices_.resize(costs.num_devices());
    std::iota(devices_.begin(), devices_.end(), 0);
  }
  if (options.lazy_sources) lazy_ = lazy_nodes(graph());
  if (!options.given.empty()) {
    for (NodeId v = 0; v < graph().num_nodes(); ++v) {
      if (options.given[v] != kNoDevice) unit_device_[graph().unit(v)] = options.given[v];
    }
  }
  if (graph().has_fixed()) {
    for (UnitId u = 0; u < graph().num_units(); ++u) {
      if (graph().unit_fixed(u) != kNoDevice) unit_device_[u] = graph().unit_fixed(u);
    }
  }
}

std::int64_t ListState::num_awaited(NodeId v) const {
  if (lazy_.empty()) return graph().in_degree(v);
  std::int64_t awaited = 0;
  for (EdgeId i = graph().in_begin(v); i < graph().in_end(v); ++i) awaited += lazy_[graph().source(i)] == 0;
  return awaited;
}

DeviceId ListState::weighted_inputs(NodeId v, std::span<Nanoseconds> ready) const {
  const Graph& g = graph();
  // The latest arrival at a device other than its sender's; the same for all but the sender `last`, which waits for
  // the latest of its own outputs and of what other devices send (`at_last`).
  Nanoseconds elsewhere = 0, at_last = 0;
  DeviceId last = kNoDevice;
  if (!uniform_) std::fill(ready.begin(), ready.end(), 0);
  for (EdgeId i = g.in_begin(v); i < g.in_end(v); ++i) {
    const NodeId u = g.source(i);
    const DeviceId p = device(u);
    if (p == kNoDevice) continue;  // a lazy input: it will come along
    const EdgeId e = g.in_edge(i);
    const Nanoseconds local = finish_[u];
    const Nanoseconds arrival = local + weighted(costs_->mean_cost(e));
    if (last == kNoDevice) {
      last = p, elsewhere = arrival, at_last = local;
    } else if (p == last) {
      elsewhere = std::max(elsewhere, arrival), at_last = std::max(at_last, local);
    } else if (arrival > elsewhere) {
      at_last = std::max(elsewhere, local), elsewhere = arrival, last = p;
    } else {
      at_last = std::max(at_last, arrival);
    }
    if (!uniform_) {
      for (DeviceId d = 0; d < num_devices(); ++d) ready[d] = std::max(ready[d], local + weighted(costs_->cost(e, p, d)));
    }
  }
  if (uniform_) {
    std::fill(ready.begin(), ready.end(), elsewhere);
    if (last != kNoDevice) ready[last] = at_last;
  }
  return last;
}

Nanoseconds ListState::inputs_ready(NodeId v, DeviceId d) const {
  const Graph& g = graph();
  Nanoseconds ready = 0;
  for (EdgeId i = g.in_begin(v); i < g.in_end(v); ++i) {
    const NodeId u = g.source(i);
    const DeviceId p = device(u);
    ready = std::max(ready, finish_[u] + (p == kNoDevice ? 0 : costs_->cost(g.in_edge(i), p, d)));
  }
  return ready;
}

void ListState::settle(NodeId u, DeviceId d, std::vector<NodeId>& settled) {
  const Graph& g = graph();
  stack_.push_back(u);
  while (!stack_.empty()) {
    const NodeId top = stack_.back();
    if (is_planned(top)) {
      stack_.pop_back();
      continue;
    }
    give_device(top, d);
    bool waits = false;
    for (EdgeId i = g.in_begin(top); i < g.in_end(top); ++i) {
      if (is_planned(g.source(i))) continue;
      stack_.push_back(g.source(i));
      waits = true;
    }
    if (waits) continue;
    stack_.pop_back();
    const Nanoseconds ready = inputs_ready(top, device(top));
    set_times(top, ready, ready);
    settled.push_back(top);
  }
}

void ListState::settle_inputs(NodeId v, DeviceId d, std::vector<NodeId>& settled) {
  if (lazy_.empty()) return;
  const Graph& g = graph();
  for (EdgeId i = g.in_begin(v); i < g.in_end(v); ++i) {
    const NodeId u = g.source(i);
    if (lazy_[u] != 0 && !is_planned(u)) settle(u, d, settled);
  }
}

void ListState::settle_rest() {
  if (lazy_.empty()) return;
  std::vector<NodeId> settled;
  for (NodeId v = 0; v < graph().num_nodes(); ++v) {
    if (lazy_[v] != 0 && !is_planned(v)) settle(v, devices_.front(), settled);
  }
}

Constructed ListState::result() const {
  Constructed out;
  out.device.resize(graph().num_nodes());
  for (NodeId v = 0; v < graph().num_nodes(); ++v) {
    out.device[v] = device(v);
    out.makespan = std::max(out.makespan, finish_[v]);
  }
  if (!plan_order_) return out;
  out.priority = priority_of_plan(start_, finish_);
  out.start = start_;
  return out;
}

}  // namespace pardnn
