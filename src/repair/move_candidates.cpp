#include "repair/move_candidates.hpp"

#include <algorithm>
#include <utility>

#include "memory/buffer_members.hpp"

namespace pardnn {
namespace {

__extension__ using Wide = __int128;

/// Finds out which parts still need a holding after a moment, and credits them.
class Credits {
 public:
  Credits(Judge& judge, const MoveParts& parts, std::span<const DeviceId> device, Claim claim)
      : graph_(judge.costs().graph()), finish_(judge.schedule().finish), parts_(parts), members_(graph_), device_(device),
        claim_(claim), unit_bytes_(static_cast<std::size_t>(graph_.num_units()), 0),
        group_bytes_(static_cast<std::size_t>(parts.num_parts() - parts.num_units())) {}

  void add(const Holding& holding, Nanoseconds t) {
    users_.clear();
    find_users(holding, t);
    if (users_.empty()) return;
    credit([&](NodeId v) { return parts_.unit(v); }, holding);
    if (parts_.num_parts() > parts_.num_units()) credit([&](NodeId v) { return parts_.group(v); }, holding);
  }

  Bytes unit_bytes(UnitId unit) const { return unit_bytes_[unit]; }
  /// (device, bytes) of a group, by device.
  std::span<const std::pair<DeviceId, Bytes>> group_bytes(PartId group) const { return group_bytes_[group - parts_.num_units()]; }

 private:
  void add_consumers(NodeId member, DeviceId p, Nanoseconds t) {
    for (EdgeId e = graph_.out_begin(member); e < graph_.out_end(member); ++e) {
      const NodeId u = graph_.target(e);
      if (graph_.bytes(e) > 0 && device_[u] == p && finish_[u] > t) users_.push_back(u);
    }
  }

  void find_users(const Holding& holding, Nanoseconds t) {
    switch (holding.kind) {
      case HoldingKind::residual:
      case HoldingKind::workspace:
        users_.push_back(holding.owner);
        return;
      case HoldingKind::copy:
        add_consumers(holding.owner, holding.device, t);
        return;
      case HoldingKind::buffer:
        for (const NodeId member : members_.of(holding.owner)) {
          if (finish_[member] > t) users_.push_back(holding.owner);
          add_consumers(member, holding.device, t);
        }
        return;
    }
  }

  template <typename PartOf>
  void credit(PartOf&& part_of, const Holding& holding) {
    if (claim_ == Claim::alone) {
      const PartId part = part_of(users_.front());
      for (const NodeId v : users_) {
        if (part_of(v) != part) return;
      }
      credit_part(part, holding);
      return;
    }
    claimants_.clear();
    for (const NodeId v : users_) claimants_.push_back(part_of(v));
    std::sort(claimants_.begin(), claimants_.end());
    claimants_.erase(std::unique(claimants_.begin(), claimants_.end()), claimants_.end());
    for (const PartId part : claimants_) credit_part(part, holding);
  }

  void credit_part(PartId part, const Holding& holding) {
    if (part == MoveParts::kNone) return;
    if (!parts_.is_group(part)) {
      unit_bytes_[part] += holding.bytes;
      return;
    }
    auto& by_device = group_bytes_[part - parts_.num_units()];
    auto place = std::lower_bound(by_device.begin(), by_device.end(), holding.device,
                                  [](const std::pair<DeviceId, Bytes>& a, DeviceId d) { return a.first < d; });
    if (place == by_device.end() || place->first != holding.device) place = by_device.insert(place, {holding.device, 0});
    place->second += holding.bytes;
  }

  const Graph& graph_;
  const std::vector<Nanoseconds>& finish_;
  const MoveParts& parts_;
  BufferMembers members_;
  std::span<const DeviceId> device_;
  Claim claim_;
  std::vector<Bytes> unit_bytes_;
  std::vector<std::vector<std::pair<DeviceId, Bytes>>> group_bytes_;
  std::vector<NodeId> users_;
  std::vector<PartId> claimants_;
};

/// Eqn 4: compute time of the part, and what its edges to others on its device would cost once cut.
class MoveCost {
 public:
  MoveCost(const CostModel& costs, std::span<const DeviceId> device)
      : costs_(costs), device_(device), stamp_(static_cast<std::size_t>(costs.graph().num_nodes()), -1) {}

  Nanoseconds of(PartId part, std::span<const NodeId> nodes) {
    const Graph& graph = costs_.graph();
    for (const NodeId v : nodes) stamp_[v] = part;
    Nanoseconds cost = 0;
    for (const NodeId v : nodes) {
      cost += costs_.duration(v, device_[v]);
      for (EdgeId e = graph.out_begin(v); e < graph.out_end(v); ++e) {
        if (is_cut(v, graph.target(e), part)) cost += costs_.mean_cost(e);
      }
      for (EdgeId i = graph.in_begin(v); i < graph.in_end(v); ++i) {
        if (is_cut(v, graph.source(i), part)) cost += costs_.mean_cost(graph.in_edge(i));
      }
    }
    return cost;
  }

 private:
  bool is_cut(NodeId v, NodeId other, PartId part) const { return stamp_[other] != part && device_[other] == device_[v]; }

  const CostModel& costs_;
  std::span<const DeviceId> device_;
  std::vector<PartId> stamp_;  // by node: the part it was last seen in
};

}  // namespace

bool CandidateHeaps::WorseRatio::operator()(const MoveCandidate& a, const MoveCandidate& b) const {
  const Wide left = Wide(a.cost) * b.potential, right = Wide(b.cost) * a.potential;
  return left != right ? left > right : a.part > b.part;
}

bool CandidateHeaps::WorseCost::operator()(const MoveCandidate& a, const MoveCandidate& b) const {
  return a.cost != b.cost ? a.cost > b.cost : a.part > b.part;
}

void CandidateHeaps::push(const MoveCandidate& candidate) {
  by_ratio_.push(candidate);
  if (candidate.potential > overflow_) covering_.push(candidate);
}

template <typename Heap>
std::optional<MoveCandidate> CandidateHeaps::pop_untaken(Heap& heap) {
  MoveCandidate candidate{};
  while (heap.try_pop(candidate)) {
    if (!taken_.contains(candidate.part)) return candidate;
  }
  return std::nullopt;
}

std::optional<MoveCandidate> CandidateHeaps::pop() {
  std::optional<MoveCandidate> chosen = pop_untaken(by_ratio_);
  if (!chosen) return std::nullopt;
  if (const std::optional<MoveCandidate> covering = pop_untaken(covering_); covering && covering->part != chosen->part) {
    if (covering->cost < chosen->cost) {
      by_ratio_.push(*chosen);
      chosen = covering;
    } else {
      covering_.push(*covering);
    }
  }
  taken_.insert(chosen->part);
  return chosen;
}

std::vector<MoveCandidate> move_candidates(Judge& judge, const MoveParts& parts, std::span<const DeviceId> device,
                                           std::span<const Nanoseconds> at, Claim claim) {
  const Graph& graph = judge.costs().graph();
  Credits credits(judge, parts, device, claim);
  judge.tracker().visit_holdings(device, judge.schedule(), judge.delivered(), [&](const Holding& holding) {
    const Nanoseconds t = at[holding.device];
    if (t >= 0 && holding.from <= t && holding.to > t) credits.add(holding, t);
  });
  std::vector<MoveCandidate> candidates;
  std::vector<NodeId> nodes;
  MoveCost cost(judge.costs(), device);
  for (UnitId u = 0; u < graph.num_units(); ++u) {
    const DeviceId d = device[graph.unit_nodes(u).front()];
    if (credits.unit_bytes(u) > 0) candidates.push_back({u, credits.unit_bytes(u), cost.of(u, graph.unit_nodes(u)), d});
  }
  for (PartId group = parts.num_units(); group < parts.num_parts(); ++group) {
    for (const auto& [d, bytes] : credits.group_bytes(group)) {
      parts.nodes_on(group, device, d, nodes);
      candidates.push_back({group, bytes, cost.of(group, nodes), d});
    }
  }
  return candidates;
}

}  // namespace pardnn
