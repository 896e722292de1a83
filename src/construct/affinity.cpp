#include "construct/affinity.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "graph/units.hpp"

namespace pardnn {
namespace {

__extension__ using Wide = __int128;

/// The neighbour of v over its heaviest data edge: among inputs (of equally heavy ones the first, or by layers the deepest), or outputs if none
/// brings data. -1 if there is none.
NodeId heaviest_neighbour(const Graph& graph, NodeId v, AffinityRule rule) {
  NodeId heaviest = -1;
  Bytes most = 0;
  for (EdgeId i = graph.in_begin(v); i < graph.in_end(v); ++i) {
    const Bytes bytes = graph.bytes(graph.in_edge(i));
    if (bytes > most || (bytes == most && heaviest >= 0 && rule == AffinityRule::layers)) {
      most = bytes;
      heaviest = graph.source(i);
    }
  }
  if (heaviest >= 0) return heaviest;
  for (EdgeId e = graph.out_begin(v); e < graph.out_end(v); ++e) {
    if (graph.bytes(e) > most) {
      most = graph.bytes(e);
      heaviest = graph.target(e);
    }
  }
  return heaviest;
}

/// A constant is small if it is at most this part of all residual bytes.
constexpr Bytes kConstantPart = 1000;

/// By node: a small residual that no node mutates.
std::vector<char> small_constants(const Graph& graph) {
  std::vector<char> constant(static_cast<std::size_t>(graph.num_nodes()), 0);
  std::vector<char> mutated(static_cast<std::size_t>(graph.num_units()), 0);
  Bytes all = 0;
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    if (graph.kind(v) == NodeKind::reference) mutated[graph.unit(v)] = 1;
    if (graph.is_residual(v)) all += graph.mem(v);
  }
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    constant[v] = graph.is_residual(v) && mutated[graph.unit(v)] == 0 && graph.mem(v) <= all / kConstantPart;
  }
  return constant;
}

DisjointSets join_by_affinity(const Graph& graph, AffinityRule rule) {
  const NodeId nodes = graph.num_nodes();
  DisjointSets sets(nodes);
  std::vector<char> held(static_cast<std::size_t>(nodes), 0);
  for (UnitId u = 0; u < graph.num_units(); ++u) {
    const auto members = graph.unit_nodes(u);
    for (const NodeId v : members) sets.join(v, members.front());
  }
  // A residual and all that reads its buffer.
  std::vector<char> copied(static_cast<std::size_t>(nodes), 0);
  if (rule == AffinityRule::layers) copied = small_constants(graph);
  for (NodeId v = 0; v < nodes; ++v) {
    if (!graph.is_residual(graph.root(v)) || copied[graph.root(v)] != 0) continue;
    held[v] = 1;
    for (EdgeId e = graph.out_begin(v); e < graph.out_end(v); ++e) {
      if (graph.bytes(e) == 0) continue;
      sets.join(v, graph.target(e));
      held[graph.target(e)] = 1;
    }
  }
  // The others go with their heaviest input, in topological order.
  for (NodeId v = 0; v < nodes; ++v) {
    if (held[v]) continue;
    const NodeId neighbour = heaviest_neighbour(graph, v, rule);
    if (neighbour >= 0) sets.join(v, neighbour);
  }
  return sets;
}

struct GroupWeights {
  std::vector<Nanoseconds> work;
  std::vector<Bytes> memory;
  std::vector<DeviceId> fixed;
};

GroupWeights weigh(const Graph& graph, const AffinityGroups& groups) {
  const std::size_t count = static_cast<std::size_t>(groups.groups);
  GroupWeights weights{std::vector<Nanoseconds>(count, 0), std::vector<Bytes>(count, 0), std::vector<DeviceId>(count, kNoDevice)};
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    const std::int64_t g = groups.of_node[v];
    weights.work[g] += graph.comp(v);
    if (graph.root(v) == v && graph.kind(v) != NodeKind::reference) weights.memory[g] += graph.mem(v);
    if (graph.fixed(v) != kNoDevice && weights.fixed[g] == kNoDevice) weights.fixed[g] = graph.fixed(v);
  }
  return weights;
}

/// Contiguous runs of groups whose weights follow the shares of the devices.
std::vector<DeviceId> cut_into_blocks(const std::vector<std::int64_t>& weight, const std::vector<Millionths>& share) {
  const Wide all = std::accumulate(weight.begin(), weight.end(), Wide{0});
  const Wide shares = std::accumulate(share.begin(), share.end(), Wide{0});
  std::vector<DeviceId> device(weight.size(), 0);
  DeviceId d = 0;
  Wide before = 0, filled = share[0];
  for (std::size_t g = 0; g < weight.size(); ++g) {
    // The middle of the group decides.
    while (d + 1 < static_cast<DeviceId>(share.size()) && (2 * before + weight[g]) * shares > 2 * all * filled) filled += share[++d];
    device[g] = d;
    before += weight[g];
  }
  return device;
}

std::vector<DeviceId> heaviest_to_least_loaded(const std::vector<Nanoseconds>& work, const std::vector<Millionths>& speed) {
  std::vector<std::size_t> order(work.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return work[a] > work[b]; });
  std::vector<Wide> load(speed.size(), 0);
  std::vector<DeviceId> device(work.size(), 0);
  for (const std::size_t g : order) {
    std::size_t best = 0;
    for (std::size_t d = 1; d < speed.size(); ++d) {
      if ((load[d] + work[g]) * speed[best] < (load[best] + work[g]) * speed[d]) best = d;
    }
    device[g] = static_cast<DeviceId>(best);
    load[best] += work[g];
  }
  return device;
}

}  // namespace

AffinityGroups affinity_groups(const CostModel& costs, AffinityRule rule) {
  const Graph& graph = costs.graph();
  DisjointSets sets = join_by_affinity(graph, rule);
  AffinityGroups groups;
  groups.of_node.assign(static_cast<std::size_t>(graph.num_nodes()), -1);
  // Numbered by their first node that takes time; those without one come last.
  std::vector<std::int64_t> number(static_cast<std::size_t>(graph.num_nodes()), -1);
  for (const bool timed : {true, false}) {
    for (NodeId v = 0; v < graph.num_nodes(); ++v) {
      if (timed && graph.comp(v) == 0) continue;
      std::int64_t& known = number[sets.find(v)];
      if (known < 0) known = groups.groups++;
    }
  }
  for (NodeId v = 0; v < graph.num_nodes(); ++v) groups.of_node[v] = number[sets.find(v)];
  return groups;
}

Constructed affinity_start(const CostModel& costs, const AffinityGroups& groups, AffinitySpread spread) {
  const Graph& graph = costs.graph();
  const Machine& machine = costs.machine();
  const GroupWeights weights = weigh(graph, groups);
  std::vector<Millionths> speed, room;
  for (DeviceId d = 0; d < machine.num_devices(); ++d) {
    speed.push_back(machine.devices[d].speed);
    room.push_back(std::max<Bytes>(machine.usable(d), 1));
  }
  std::vector<DeviceId> of_group;
  switch (spread) {
    case AffinitySpread::blocks: of_group = cut_into_blocks(weights.work, speed); break;
    case AffinitySpread::blocks_memory: of_group = cut_into_blocks(weights.memory, room); break;
    case AffinitySpread::heaviest_first: of_group = heaviest_to_least_loaded(weights.work, speed); break;
    case AffinitySpread::cyclic:
      for (std::int64_t g = 0; g < groups.groups; ++g) of_group.push_back(static_cast<DeviceId>(g % machine.num_devices()));
      break;
  }
  Constructed constructed;
  constructed.device.resize(static_cast<std::size_t>(graph.num_nodes()));
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    const std::int64_t g = groups.of_node[v];
    const DeviceId pinned = graph.fixed(v) != kNoDevice ? graph.fixed(v) : weights.fixed[g];
    constructed.device[v] = pinned != kNoDevice ? pinned : of_group[g];
  }
  return constructed;
}

}  // namespace pardnn
