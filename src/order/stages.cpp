#include "order/stages.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "levels/weighted_levels.hpp"

namespace pardnn {
namespace {

__extension__ using Wide = __int128;

/// Weights are brought back to about this sum, so that they keep their digits and never overflow.
constexpr std::int64_t kGreatestSum = std::int64_t{1} << 40;

/// When forward work reaches each group: the least top level among its nodes of at least a sixteenth of the duration of its longest. Shorter
/// ones may be views of weights, and those that mutate a residual may be its decay; both are reached at once.
std::vector<Nanoseconds> first_reached(const Graph& graph, const AffinityGroups& groups, std::span<const Nanoseconds> top) {
  const std::size_t count = static_cast<std::size_t>(groups.groups);
  std::vector<Nanoseconds> longest(count, 0), first(count, std::numeric_limits<Nanoseconds>::max());
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    if (graph.kind(v) == NodeKind::reference) continue;
    Nanoseconds& known = longest[groups.of_node[v]];
    known = std::max(known, graph.comp(v));
  }
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    if (graph.kind(v) == NodeKind::reference) continue;
    const std::int64_t g = groups.of_node[v];
    if (graph.comp(v) >= (longest[g] + 15) / 16) first[g] = std::min(first[g], top[v]);
  }
  return first;
}

}  // namespace

Stages::Stages(const CostModel& costs, const AffinityGroups& groups) : costs_(&costs) {
  const Graph& graph = costs.graph();
  const std::vector<Nanoseconds> reached = first_reached(graph, groups, weighted_levels(costs).top);
  const std::size_t count = static_cast<std::size_t>(groups.groups);
  std::vector<NodeId> first(count, -1);
  for (NodeId v = graph.num_nodes(); v-- > 0;) first[groups.of_node[v]] = v;
  std::vector<std::int64_t> order(count), rank(count);
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
    return reached[a] != reached[b] ? reached[a] < reached[b] : graph.file_id(first[a]) < graph.file_id(first[b]);
  });
  for (std::size_t r = 0; r < count; ++r) {
    rank[order[r]] = static_cast<std::int64_t>(r);
    first_.push_back(first[order[r]]);
  }
  weight_.assign(count, 0);
  fixed_.assign(count, kNoDevice);
  rank_of_node_.resize(static_cast<std::size_t>(graph.num_nodes()));
  const std::int64_t unit = graph.total_comp() / kGreatestSum + 1;
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    const std::int64_t r = rank_of_node_[v] = rank[groups.of_node[v]];
    weight_[r] += graph.comp(v) / unit;
    if (graph.fixed(v) != kNoDevice && fixed_[r] == kNoDevice) fixed_[r] = graph.fixed(v);
  }
}

std::vector<DeviceId> Stages::cut(StageShape shape) const {
  const Machine& machine = costs_->machine();
  const DeviceId devices = machine.num_devices();
  const DeviceId stages = shape == StageShape::blocks ? devices : 2 * devices;
  const auto device_of = [&](DeviceId stage) { return stage < devices ? stage : 2 * devices - 1 - stage; };
  Wide all = 0, shares = 0;
  for (const std::int64_t weight : weight_) all += weight;
  for (DeviceId s = 0; s < stages; ++s) shares += machine.devices[device_of(s)].speed;
  std::vector<DeviceId> of_group(weight_.size());
  DeviceId stage = 0;
  Wide before = 0, filled = machine.devices[0].speed;
  for (std::size_t r = 0; r < weight_.size(); ++r) {
    // The middle of the group decides.
    while (stage + 1 < stages && (2 * before + weight_[r]) * shares > 2 * all * filled) filled += machine.devices[device_of(++stage)].speed;
    of_group[r] = fixed_[r] != kNoDevice ? fixed_[r] : device_of(stage);
    before += weight_[r];
  }
  std::vector<DeviceId> device(rank_of_node_.size());
  const Graph& graph = costs_->graph();
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    device[v] = graph.fixed(v) != kNoDevice ? graph.fixed(v) : of_group[rank_of_node_[v]];
  }
  return device;
}

void Stages::scale(std::span<const DeviceId> device, std::span<const Millionths> factor) {
  Wide all = 0;
  for (std::size_t r = 0; r < weight_.size(); ++r) {
    const Wide scaled = Wide{weight_[r]} * factor[device[first_[r]]] / kOne;
    weight_[r] = static_cast<std::int64_t>(std::min<Wide>(std::max<Wide>(scaled, 1), kGreatestSum));
    all += weight_[r];
  }
  if (all <= kGreatestSum) return;
  const Wide unit = all / kGreatestSum + 1;
  for (std::int64_t& weight : weight_) weight = std::max<std::int64_t>(1, static_cast<std::int64_t>(weight / unit));
}

}  // namespace pardnn
