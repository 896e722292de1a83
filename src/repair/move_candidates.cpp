#include "repair/move_candidates.hpp"

#include <algorithm>
#include <utility>

namespace pardnn {
namespace {

__extension__ using Wide = __int128;

/// Finds the one unit on a device that still needs something after a moment.
class SoleUser {
 public:
  void add(UnitId unit) {
    if (unit_ == kNobody) unit_ = unit;
    if (unit_ != unit) several_ = true;
  }
  UnitId unit() const { return several_ ? kNobody : unit_; }
  static constexpr UnitId kNobody = -1;

 private:
  UnitId unit_ = kNobody;
  bool several_ = false;
};

/// The nodes whose outputs share a root's buffer. O(V) to make.
class BufferMembers {
 public:
  explicit BufferMembers(const Graph& graph) {
    if (!graph.has_aliases()) return;
    const NodeId nodes = graph.num_nodes();
    offsets_.assign(static_cast<std::size_t>(nodes) + 1, 0);
    for (NodeId v = 0; v < nodes; ++v) ++offsets_[graph.root(v) + 1];
    for (NodeId v = 0; v < nodes; ++v) offsets_[v + 1] += offsets_[v];
    members_.resize(static_cast<std::size_t>(nodes));
    std::vector<NodeId> next(offsets_.begin(), offsets_.end());
    for (NodeId v = 0; v < nodes; ++v) members_[next[graph.root(v)]++] = v;
  }
  std::span<const NodeId> of(const NodeId& root) const {
    if (offsets_.empty()) return {&root, 1};
    return {members_.data() + offsets_[root], static_cast<std::size_t>(offsets_[root + 1] - offsets_[root])};
  }

 private:
  std::vector<NodeId> offsets_, members_;
};

/// Adds the consumers of `member` on device p that end after t.
void add_consumers(const Graph& graph, std::span<const DeviceId> device, const Schedule& schedule, NodeId member,
                   DeviceId p, Nanoseconds t, SoleUser& user) {
  for (EdgeId e = graph.out_begin(member); e < graph.out_end(member); ++e) {
    const NodeId u = graph.target(e);
    if (graph.bytes(e) > 0 && device[u] == p && schedule.finish[u] > t) user.add(graph.unit(u));
  }
}

/// The unit that alone keeps `holding` on its device after t, or kNobody.
UnitId sole_holder(const Graph& graph, const BufferMembers& members, std::span<const DeviceId> device,
                   const Schedule& schedule, const Holding& holding, Nanoseconds t) {
  const UnitId own = graph.unit(holding.owner);
  SoleUser user;
  switch (holding.kind) {
    case HoldingKind::residual:
    case HoldingKind::workspace:
      return own;
    case HoldingKind::copy:
      add_consumers(graph, device, schedule, holding.owner, holding.device, t, user);
      return user.unit();
    case HoldingKind::buffer:
      for (const NodeId member : members.of(holding.owner)) {
        if (schedule.finish[member] > t) user.add(own);
        add_consumers(graph, device, schedule, member, holding.device, t, user);
      }
      return user.unit();
  }
  return SoleUser::kNobody;
}

/// Eqn 4: compute time of the unit, and what its edges to other units on its device would cost once cut.
Nanoseconds move_cost(const CostModel& costs, std::span<const DeviceId> device, UnitId unit) {
  const Graph& graph = costs.graph();
  Nanoseconds cost = 0;
  for (const NodeId v : graph.unit_nodes(unit)) {
    cost += costs.duration(v, device[v]);
    for (EdgeId e = graph.out_begin(v); e < graph.out_end(v); ++e) {
      const NodeId u = graph.target(e);
      if (graph.unit(u) != unit && device[u] == device[v]) cost += costs.mean_cost(e);
    }
    for (EdgeId i = graph.in_begin(v); i < graph.in_end(v); ++i) {
      const NodeId u = graph.source(i);
      if (graph.unit(u) != unit && device[u] == device[v]) cost += costs.mean_cost(graph.in_edge(i));
    }
  }
  return cost;
}

}  // namespace

bool CandidateHeaps::WorseRatio::operator()(const MoveCandidate& a, const MoveCandidate& b) const {
  const Wide left = Wide(a.cost) * b.potential, right = Wide(b.cost) * a.potential;
  return left != right ? left > right : a.unit > b.unit;
}

bool CandidateHeaps::WorseCost::operator()(const MoveCandidate& a, const MoveCandidate& b) const {
  return a.cost != b.cost ? a.cost > b.cost : a.unit > b.unit;
}

void CandidateHeaps::push(const MoveCandidate& candidate) {
  by_ratio_.push(candidate);
  if (candidate.potential > overflow_) covering_.push(candidate);
}

template <typename Heap>
std::optional<MoveCandidate> CandidateHeaps::pop_untaken(Heap& heap) {
  MoveCandidate candidate{};
  while (heap.try_pop(candidate)) {
    if (!taken_.contains(candidate.unit)) return candidate;
  }
  return std::nullopt;
}

std::optional<MoveCandidate> CandidateHeaps::pop() {
  std::optional<MoveCandidate> chosen = pop_untaken(by_ratio_);
  if (!chosen) return std::nullopt;
  if (const std::optional<MoveCandidate> covering = pop_untaken(covering_); covering && covering->unit != chosen->unit) {
    if (covering->cost < chosen->cost) {
      by_ratio_.push(*chosen);
      chosen = covering;
    } else {
      covering_.push(*covering);
    }
  }
  taken_.insert(chosen->unit);
  return chosen;
}

std::vector<MoveCandidate> move_candidates(Judge& judge, std::span<const DeviceId> device, std::span<const Nanoseconds> at) {
  const CostModel& costs = judge.costs();
  const Graph& graph = costs.graph();
  const BufferMembers members(graph);
  std::vector<Bytes> potential(static_cast<std::size_t>(graph.num_units()), 0);
  judge.tracker().visit_holdings(device, judge.schedule(), judge.delivered(), [&](const Holding& holding) {
    const Nanoseconds t = at[holding.device];
    if (t < 0 || holding.from > t || holding.to <= t) return;
    const UnitId unit = sole_holder(graph, members, device, judge.schedule(), holding, t);
    if (unit != SoleUser::kNobody && graph.unit_fixed(unit) == kNoDevice) potential[unit] += holding.bytes;
  });
  std::vector<MoveCandidate> candidates;
  for (UnitId u = 0; u < graph.num_units(); ++u) {
    if (potential[u] > 0) candidates.push_back({u, potential[u], move_cost(costs, device, u)});
  }
  return candidates;
}

}  // namespace pardnn
