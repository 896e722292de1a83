#include "pardnn/graph.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "graph/topological_order.hpp"
#include "graph/units.hpp"
#include "pardnn/error.hpp"

namespace pardnn {

struct Graph::Storage {
  std::vector<std::int64_t> out_offsets{0}, in_offsets{0}, in_edges, targets, sources, root, depth_offsets{0};
  std::vector<std::int64_t> unit, unit_members, unit_offsets, iota, bytes, mem, temp, file_ids, comp;
  std::vector<std::int32_t> outputs, group;
  std::vector<Pin> pins;
  std::vector<DeviceId> unit_fixed;
  std::vector<std::uint8_t> kind;
};

namespace {

using Ids = std::vector<std::int64_t>;

/// A pinned device of a file; whatever exceeds every machine stays greater than any device.
DeviceId narrow_device(std::int64_t device) { return static_cast<DeviceId>(std::min<std::int64_t>(device, INT32_MAX)); }

void release(Ids& values) { Ids().swap(values); }

/// `values` from file order to internal order; the input is freed.
Ids reorder(Ids& values, const Ids& order) {
  Ids out(values.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = values[order[i]];
  release(values);
  return out;
}

bool all_are(const Ids& values, std::int64_t value) {
  return std::all_of(values.begin(), values.end(), [value](std::int64_t x) { return x == value; });
}

/// Output ids of each source replaced by their rank among the source's outputs: the same order, 32 bits.
std::vector<std::int32_t> output_ranks(const Ids& offsets, const Ids& outputs) {
  std::vector<std::int32_t> ranks(outputs.size());
  Ids distinct;
  for (std::size_t v = 0; v + 1 < offsets.size(); ++v) {
    distinct.assign(outputs.begin() + offsets[v], outputs.begin() + offsets[v + 1]);
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    for (std::int64_t e = offsets[v]; e < offsets[v + 1]; ++e) {
      ranks[e] = static_cast<std::int32_t>(std::lower_bound(distinct.begin(), distinct.end(), outputs[e]) - distinct.begin());
    }
  }
  return ranks;
}

/// Group ids >= 0 replaced by their rank; -1 stays.
std::vector<std::int32_t> group_ranks(const Ids& colocation) {
  Ids distinct;
  for (const std::int64_t group : colocation) {
    if (group >= 0) distinct.push_back(group);
  }
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  std::vector<std::int32_t> ranks(colocation.size(), -1);
  for (std::size_t v = 0; v < ranks.size(); ++v) {
    if (colocation[v] < 0) continue;
    ranks[v] = static_cast<std::int32_t>(std::lower_bound(distinct.begin(), distinct.end(), colocation[v]) - distinct.begin());
  }
  return ranks;
}

/// CSR of successors from file numbering to internal numbering; rows keep their order.
template <typename Storage>
void renumber_edges(GraphData& data, const Ids& order, const Ids& internal, Storage& s) {
  const std::int64_t nodes = data.num_nodes(), edges = data.num_edges();
  s.out_offsets.assign(nodes + 1, 0);
  for (std::int64_t i = 0; i < nodes; ++i) {
    s.out_offsets[i + 1] = s.out_offsets[i] + data.indptr[order[i] + 1] - data.indptr[order[i]];
  }
  const auto by_rows = [&](const Ids& values, auto&& map) {
    Ids out(values.size());
    for (std::int64_t i = 0; i < nodes; ++i) {
      std::int64_t to = s.out_offsets[i];
      for (std::int64_t e = data.indptr[order[i]]; e < data.indptr[order[i] + 1]; ++e) out[to++] = map(values[e]);
    }
    return out;
  };
  const auto same = [](std::int64_t x) { return x; };
  s.targets = by_rows(data.indices, [&](std::int64_t target) { return internal[target]; });
  release(data.indices);
  s.bytes = by_rows(data.bytes, same);
  release(data.bytes);
  if (!all_are(data.output, 0)) s.outputs = output_ranks(s.out_offsets, by_rows(data.output, same));
  release(data.output);
  release(data.indptr);

  s.in_offsets.assign(nodes + 1, 0);
  for (const std::int64_t target : s.targets) ++s.in_offsets[target + 1];
  for (std::int64_t i = 0; i < nodes; ++i) s.in_offsets[i + 1] += s.in_offsets[i];
  s.sources.resize(edges);
  s.in_edges.resize(edges);
  Ids next(s.in_offsets.begin(), s.in_offsets.end());
  for (std::int64_t v = 0; v < nodes; ++v) {
    for (std::int64_t e = s.out_offsets[v]; e < s.out_offsets[v + 1]; ++e) {
      const std::int64_t position = next[s.targets[e]]++;
      s.sources[position] = v;
      s.in_edges[position] = e;
    }
  }
}

/// Units by their lowest internal node, their members, and the device they are pinned to.
template <typename Storage>
void find_units(GraphData& data, const Ids& order, const Ids& internal, Storage& s) {
  const std::int64_t nodes = static_cast<std::int64_t>(order.size());
  const auto present = [](const Ids& values) { return std::any_of(values.begin(), values.end(), [](std::int64_t x) { return x >= 0; }); };
  const bool tied = present(data.colocation) || present(data.alias);
  Ids fixed = present(data.fixed) ? reorder(data.fixed, order) : Ids();
  release(data.fixed);
  if (tied) {
    Ids colocation = reorder(data.colocation, order);
    if (present(colocation)) s.group = group_ranks(colocation);
    Ids alias = reorder(data.alias, order);
    for (std::int64_t& base : alias) base = base < 0 ? -1 : internal[base];
    DisjointSets sets = tied_nodes(nodes, colocation, alias);
    release(colocation);
    if (present(alias)) {
      // The base of an alias may have any id: walk each chain once and shorten it on the way.
      s.root.resize(nodes);
      for (std::int64_t v = 0; v < nodes; ++v) {
        std::int64_t end = v;
        while (alias[end] >= 0) end = alias[end];
        for (std::int64_t walk = v; alias[walk] >= 0;) {
          const std::int64_t further = alias[walk];
          if (further != end) alias[walk] = end;
          walk = further;
        }
        s.root[v] = end;
      }
    }
    s.unit.resize(nodes);
    std::int64_t units = 0;
    for (std::int64_t v = 0; v < nodes; ++v) {
      const std::int64_t first = sets.find(v);
      s.unit[v] = first == v ? units++ : s.unit[first];
    }
    s.unit_offsets.assign(units + 1, 0);
    for (const std::int64_t u : s.unit) ++s.unit_offsets[u + 1];
    for (std::int64_t u = 0; u < units; ++u) s.unit_offsets[u + 1] += s.unit_offsets[u];
    s.unit_members.resize(nodes);
    Ids next(s.unit_offsets.begin(), s.unit_offsets.end());
    for (std::int64_t v = 0; v < nodes; ++v) s.unit_members[next[s.unit[v]]++] = v;
  } else {
    s.iota.resize(nodes);
    std::iota(s.iota.begin(), s.iota.end(), std::int64_t{0});
  }
  release(data.colocation);
  release(data.alias);
  if (!fixed.empty()) {
    s.unit_fixed.assign(tied ? s.unit_offsets.size() - 1 : nodes, kNoDevice);
    for (std::int64_t v = 0; v < nodes; ++v) {
      if (fixed[v] < 0) continue;
      s.unit_fixed[tied ? s.unit[v] : v] = narrow_device(fixed[v]);
      s.pins.push_back({v, narrow_device(fixed[v])});
    }
  }
}

}  // namespace

std::string GraphData::printable_name(std::int64_t n) const {
  if (names.empty() || n < 0 || n >= static_cast<std::int64_t>(names.offsets.size()) - 1) return "node " + std::to_string(n);
  return "node " + std::to_string(n) + " '" + printable(names[n]) + "'";
}

Graph::Graph() : storage_(std::make_shared<const Storage>()) { bind(); }

Graph::Graph(GraphData data) {
  const std::vector<Finding> findings = check_graph(data, 1);
  if (!findings.empty()) throw InputError(findings.front().dataset + ": " + findings.front().message);
  merge_parallel_edges(data);
  name_ = std::move(data.name);
  samples_per_step_ = data.samples_per_step;
  fingerprint_ = pardnn::fingerprint(data);
  for (const std::int64_t device : data.fixed) greatest_fixed_ = std::max(greatest_fixed_, narrow_device(device));
  TopologicalOrder topology = topological_order(data.indptr, data.indices);
  const std::int64_t nodes = data.num_nodes();
  if (nodes > 0 && topology.order.empty()) throw InputError("/edges: the graph has a cycle");

  auto storage = std::make_shared<Storage>();
  Ids& order = topology.order;
  Ids internal(nodes);
  for (std::int64_t i = 0; i < nodes; ++i) internal[order[i]] = i;
  storage->depth_offsets = std::move(topology.depth_offsets);
  renumber_edges(data, order, internal, *storage);
  find_units(data, order, internal, *storage);
  release(internal);
  storage->comp = reorder(data.comp, order);
  storage->mem = reorder(data.mem, order);
  if (!all_are(data.temp, 0)) storage->temp = reorder(data.temp, order);
  if (!all_are(data.kind, 0)) {
    storage->kind.resize(nodes);
    for (std::int64_t i = 0; i < nodes; ++i) storage->kind[i] = static_cast<std::uint8_t>(data.kind[order[i]]);
  }
  if (!std::is_sorted(order.begin(), order.end())) storage->file_ids = std::move(order);
  storage_ = std::move(storage);
  bind();
}

void Graph::bind() {
  const Storage& s = *storage_;
  out_offsets_ = s.out_offsets;
  in_offsets_ = s.in_offsets;
  in_edges_ = s.in_edges;
  targets_ = s.targets;
  sources_ = s.sources;
  root_ = s.root;
  depth_offsets_ = s.depth_offsets;
  unit_members_ = s.unit_members;
  iota_ = s.iota;
  bytes_ = s.bytes;
  mem_ = s.mem;
  temp_ = s.temp;
  outputs_ = s.outputs;
  file_ids_ = s.file_ids;
  unit_offsets_ = s.unit_offsets;
  comp_ = s.comp;
  kind_ = s.kind;
  unit_ = s.unit;
  unit_fixed_ = s.unit_fixed;
  pins_ = s.pins;
  group_ = s.group;
  num_groups_ = s.group.empty() ? 0 : *std::max_element(s.group.begin(), s.group.end()) + 1;
  num_nodes_ = static_cast<NodeId>(s.out_offsets.size()) - 1;
  num_edges_ = static_cast<EdgeId>(s.targets.size());
  num_units_ = s.unit.empty() ? num_nodes_ : static_cast<UnitId>(s.unit_offsets.size()) - 1;
  total_comp_ = std::accumulate(s.comp.begin(), s.comp.end(), Nanoseconds{0});
  total_bytes_ = std::accumulate(s.bytes.begin(), s.bytes.end(), Bytes{0});
}

}  // namespace pardnn
