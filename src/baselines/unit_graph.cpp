#include "baselines/unit_graph.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "baselines/unit_walk.hpp"
#include "pardnn/error.hpp"

namespace pardnn {
namespace {

struct Neighbour {
  UnitId unit;
  Bytes bytes;
};

/// Appends the neighbours of unit u, joined.
void append_neighbours(const Graph& graph, UnitId u, std::vector<Neighbour>& scratch, UnitGraph& out) {
  scratch.clear();
  for (const NodeId v : graph.unit_nodes(u)) {
    for (EdgeId e = graph.out_begin(v); e < graph.out_end(v); ++e) {
      if (graph.unit(graph.target(e)) != u) scratch.push_back({graph.unit(graph.target(e)), graph.bytes(e)});
    }
    for (EdgeId i = graph.in_begin(v); i < graph.in_end(v); ++i) {
      if (graph.unit(graph.source(i)) != u) scratch.push_back({graph.unit(graph.source(i)), graph.bytes(graph.in_edge(i))});
    }
  }
  std::sort(scratch.begin(), scratch.end(), [](const Neighbour& a, const Neighbour& b) { return a.unit < b.unit; });
  const auto begin = static_cast<std::size_t>(out.offsets.back());
  for (const Neighbour& n : scratch) {
    if (out.neighbours.size() > begin && out.neighbours.back() == n.unit) {
      out.edge_weights.back() += n.bytes;
    } else {
      out.neighbours.push_back(n.unit);
      out.edge_weights.push_back(n.bytes);
    }
  }
  out.offsets.push_back(static_cast<std::int64_t>(out.neighbours.size()));
}

/// Scales weights down to a sum of about `greatest_sum`; each is at least 1 after.
void scale(std::vector<std::int64_t>& weights, std::int64_t sum, std::int64_t greatest_sum) {
  for (std::int64_t& weight : weights) {
    if (sum > greatest_sum) weight = ceil_mul_div(weight, greatest_sum, sum);
    weight = std::max<std::int64_t>(1, weight);
  }
}

}  // namespace

UnitGraph unit_graph(const Graph& graph, std::int64_t greatest_sum) {
  UnitGraph out;
  out.offsets.reserve(graph.num_units() + 1);
  std::vector<Neighbour> scratch;
  for (UnitId u = 0; u < graph.num_units(); ++u) append_neighbours(graph, u, scratch, out);
  out.vertex_weights = unit_work(graph);
  scale(out.vertex_weights, graph.total_comp(), greatest_sum);
  // Each edge stands there twice; total_bytes is below 2^62, so twice that is below 2^63.
  scale(out.edge_weights, 2 * graph.total_bytes(), greatest_sum);
  return out;
}

void require_index(const UnitGraph& graph, std::int64_t greatest_index, const char* library) {
  const auto size = static_cast<std::int64_t>(std::max(graph.neighbours.size(), graph.vertex_weights.size()));
  if (size < greatest_index) return;
  throw InputError(std::string(library) + ": the graph has " + std::to_string(graph.num_units()) + " vertices and " +
                   std::to_string(graph.neighbours.size()) + " neighbours; this build of it counts to " +
                   std::to_string(greatest_index));
}

bool partition_trivially(const CostModel& costs, const UnitGraph& graph, std::vector<DeviceId>& part) {
  const DeviceId devices = costs.num_devices();
  const std::int64_t units = graph.num_units();
  part.assign(units, 0);
  if (devices == 1 || units == 0) return true;
  if (units > devices && !graph.neighbours.empty()) return false;
  const Machine& machine = costs.machine();
  std::vector<UnitId> order(units);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&graph](UnitId a, UnitId b) { return graph.vertex_weights[a] > graph.vertex_weights[b]; });
  std::vector<Nanoseconds> load(devices, 0);
  const auto load_with = [&](DeviceId d, UnitId u) {
    return ceil_mul_div(load[d] + graph.vertex_weights[u], kOne, machine.devices[d].speed);
  };
  for (const UnitId u : order) {
    DeviceId best = 0;
    for (DeviceId d = 1; d < devices; ++d) {
      const bool both_empty_or_not = (load[d] == 0) == (load[best] == 0);
      if (units <= devices && !both_empty_or_not ? load[d] == 0 : load_with(d, u) < load_with(best, u)) best = d;
    }
    part[u] = best;
    load[best] += graph.vertex_weights[u];
  }
  return true;
}

}  // namespace pardnn
