#include "construct/port_plan.hpp"

#include <algorithm>

namespace pardnn {

PortPlan::PortPlan(const ListState& state, const ListOptions& options)
    : state_(&state),
      foreseen_(options.foreseen),
      comm_weight_(options.comm_weight),
      price_(options.port_price),
      stay_(options.stay),
      words_((static_cast<std::size_t>(state.num_devices()) + 63) / 64),
      sent_to_(static_cast<std::size_t>(state.graph().num_edges()) * words_, 0),
      delivered_(state.graph().num_edges(), 0),
      delivered_to_(state.graph().num_edges(), kNoDevice),
      left_(state.graph().num_nodes(), -1),
      ports_(state.num_devices()) {}

void PortPlan::raise_inputs(NodeId v, Nanoseconds now, std::span<Nanoseconds> arrival, std::span<Nanoseconds> unsent) const {
  const Graph& graph = state_->graph();
  const CostModel& costs = state_->costs();
  std::fill(unsent.begin(), unsent.end(), 0);
  for (EdgeId i = graph.in_begin(v); i < graph.in_end(v); ++i) {
    const NodeId u = graph.source(i);
    const EdgeId e = graph.in_edge(i);
    const DeviceId p = state_->device(u);
    if (p == kNoDevice || graph.bytes(e) == 0) continue;
    const Nanoseconds left = left_[u] >= 0 ? left_[u] : state_->is_lazy(u) ? 0 : std::max(now, ports_[p].free) + ports_[p].pending;
    for (const DeviceId d : state_->devices()) {
      if (d == p) continue;
      const bool sent = is_sent(slot(u, e), d);
      Nanoseconds at = left + costs.latency(p, d) + (sent ? 0 : costs.transfer(e, p, d));
      if (delivered_to_[e] == d) at = delivered_[e];
      if (comm_weight_ != kOne) {
        const Nanoseconds cost = costs.cost(e, p, d);
        at += ceil_mul_div(cost, comm_weight_, kOne) - cost;
      }
      if (!sent) unsent[d] += costs.transfer(e, p, d);
      arrival[d] = std::max(arrival[d], at);
    }
  }
}

void PortPlan::decide(NodeId v) {
  const Graph& graph = state_->graph();
  const DeviceId d = state_->device(v);
  for (EdgeId i = graph.in_begin(v); i < graph.in_end(v); ++i) {
    const NodeId u = graph.source(i);
    const EdgeId e = graph.in_edge(i);
    const DeviceId p = state_->device(u);
    const bool lazy = left_[u] < 0 && state_->is_lazy(u);
    if (left_[u] < 0 && !lazy) {
      // u ends now.
      if (p == d || graph.bytes(e) == 0 || is_sent(slot(u, e), d)) continue;
      mark_sent(slot(u, e), d);
      ports_[p].pending += state_->costs().transfer(e, p, d);
      continue;
    }
    if (lazy) left_[u] = state_->finish(u);
    if (delivered_to_[e] == d) continue;
    delivered_to_[e] = d;
    if (p == d) {
      delivered_[e] = state_->finish(u);
      continue;
    }
    if (graph.bytes(e) > 0 && !is_sent(slot(u, e), d)) {
      const Nanoseconds transfer = state_->costs().transfer(e, p, d);
      mark_sent(slot(u, e), d);
      left_[u] += transfer;
      if (state_->finish(u) >= ports_[p].busy_since && ports_[p].free > state_->finish(u)) ports_[p].free += transfer;
    }
    const Nanoseconds alone = state_->finish(u) + state_->costs().cost(e, p, d);
    delivered_[e] = graph.bytes(e) > 0 ? std::max(alone, left_[u] + state_->costs().latency(p, d)) : alone;
  }
}

Nanoseconds PortPlan::expected_ready(NodeId v, Nanoseconds now) const {
  const Graph& graph = state_->graph();
  const DeviceId d = state_->device(v);
  Nanoseconds ready = 0;
  for (EdgeId i = graph.in_begin(v); i < graph.in_end(v); ++i) {
    const NodeId u = graph.source(i);
    const EdgeId e = graph.in_edge(i);
    const DeviceId p = state_->device(u);
    if (left_[u] >= 0) {
      ready = std::max(ready, delivered_[e]);
    } else if (p == d || graph.bytes(e) == 0) {
      ready = std::max(ready, now + state_->costs().cost(e, p, d));
    } else {
      ready = std::max(ready, std::max(now, ports_[p].free) + ports_[p].pending + state_->costs().latency(p, d));
    }
  }
  return ready;
}

void PortPlan::send(Nanoseconds now) {
  for (const NodeId u : ended_) send_all(u, now);
  for (const NodeId u : ended_) ports_[state_->device(u)].pending = 0;
  ended_.clear();
}

void PortPlan::send_all(NodeId u, Nanoseconds now) {
  const Graph& graph = state_->graph();
  const CostModel& costs = state_->costs();
  const DeviceId p = state_->device(u);
  Port& port = ports_[p];
  sent_.clear();
  for (EdgeId e = graph.out_begin(u); e < graph.out_end(u); ++e) {
    const DeviceId q = destination(graph.target(e));
    if (q == kNoDevice) continue;
    delivered_to_[e] = q;
    delivered_[e] = now;
    if (q != p) sent_.push_back({q, graph.output(e), e, graph.bytes(e)});
  }
  std::sort(sent_.begin(), sent_.end(), [](const Sent& a, const Sent& b) {
    return a.to != b.to ? a.to < b.to : a.output != b.output ? a.output < b.output : a.edge < b.edge;
  });
  for (std::size_t first = 0, last = 0; first < sent_.size(); first = last) {
    std::size_t largest = first;
    for (last = first; last < sent_.size() && sent_[last].to == sent_[first].to && sent_[last].output == sent_[first].output; ++last) {
      if (sent_[last].bytes > sent_[largest].bytes) largest = last;
    }
    const DeviceId q = sent_[first].to;
    Nanoseconds leaves = now;
    if (sent_[largest].bytes > 0) {
      if (port.free <= now) port.busy_since = now;
      leaves = port.free = std::max(now, port.free) + costs.transfer(sent_[largest].edge, p, q);
      mark_sent(slot(u, sent_[largest].edge), q);
    }
    for (std::size_t i = first; i < last; ++i) delivered_[sent_[i].edge] = leaves + costs.latency(p, q);
  }
  left_[u] = std::max(now, port.free);
}

Nanoseconds PortPlan::inputs_ready(NodeId v) const {
  const Graph& graph = state_->graph();
  Nanoseconds ready = 0;
  for (EdgeId i = graph.in_begin(v); i < graph.in_end(v); ++i) ready = std::max(ready, delivered_[graph.in_edge(i)]);
  return ready;
}

}  // namespace pardnn
