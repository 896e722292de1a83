#include "costs/cost_model.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "pardnn/error.hpp"

namespace pardnn {
namespace {

__extension__ using Wide = __int128;

/// Kinds of link (bandwidth) whose transfer times are kept per edge; a machine with more computes them on the fly.
constexpr std::size_t kMaxLinkKinds = 3;
constexpr std::size_t kMaxSpeedKinds = 4;

/// Index of each value among the distinct ones, in order of first appearance.
template <typename T>
std::vector<std::uint32_t> kinds_of(const std::vector<T>& values, std::vector<T>& distinct) {
  std::map<T, std::uint32_t> known;
  std::vector<std::uint32_t> kinds;
  kinds.reserve(values.size());
  for (const T& value : values) {
    const auto [at, fresh] = known.emplace(value, static_cast<std::uint32_t>(known.size()));
    if (fresh) distinct.push_back(value);
    kinds.push_back(at->second);
  }
  return kinds;
}

/// Compute time of all nodes on a device of speed `speed`, each rounded up on its own. O(V).
Wide exact_compute(const Graph& graph, Millionths speed) {
  if (speed == kOne) return graph.total_comp();
  Wide sum = 0;
  for (NodeId v = 0; v < graph.num_nodes(); ++v) sum += (Wide(graph.comp(v)) * kOne + speed - 1) / speed;
  return sum;
}

/// Transfer time of all edges on a link of `bandwidth`, each rounded up on its own. O(E).
Wide exact_transfers(const Graph& graph, BytesPerSecond bandwidth) {
  Wide sum = 0;
  for (EdgeId e = 0; e < graph.num_edges(); ++e) sum += (Wide(graph.bytes(e)) * 1'000'000'000 + bandwidth - 1) / bandwidth;
  return sum;
}

void require_bounded_sums(const Graph& graph, const Machine& machine) {
  const DeviceId k = machine.num_devices();
  Millionths slowest = kOne;
  for (DeviceId d = 0; d < k; ++d) slowest = d == 0 ? machine.devices[0].speed : std::min(slowest, machine.devices[d].speed);
  Nanoseconds latency = 0;
  BytesPerSecond bandwidth = 0;
  for (DeviceId p = 0; p < k; ++p) {
    for (DeviceId q = 0; q < k; ++q) {
      if (p == q) continue;
      latency = std::max(latency, machine.latency[machine.link(p, q)]);
      const BytesPerSecond b = machine.bandwidth[machine.link(p, q)];
      bandwidth = bandwidth == 0 ? b : std::min(bandwidth, b);
    }
  }
  // Rounding up adds less than one to each node and edge: sums that clearly pass need no pass over the graph.
  Wide compute = Wide(graph.total_comp()) * kOne / slowest + graph.num_nodes(), transfer = 0;
  if (bandwidth > 0) transfer = Wide(latency) * graph.num_edges() + graph.num_edges() + Wide(graph.total_bytes()) * 1'000'000'000 / bandwidth;
  if (compute + transfer < Wide(kSumLimit)) return;
  compute = exact_compute(graph, slowest);
  if (bandwidth > 0) transfer = Wide(latency) * graph.num_edges() + exact_transfers(graph, bandwidth);
  if (compute + transfer >= Wide(kSumLimit)) {
    throw InputError(std::string(compute >= transfer ? "/nodes/comp" : "/edges/bytes") +
                     ": a serial run on the slowest device with every edge on the slowest link takes 2^62 ns or more on this machine");
  }
}

}  // namespace

void require_pinned_devices(const Graph& graph, const Machine& machine) {
  const Graph::Pin* first = nullptr;
  for (const Graph::Pin& pin : graph.pins()) {
    if (pin.device < machine.num_devices() || (first != nullptr && graph.file_id(first->node) < graph.file_id(pin.node))) continue;
    first = &pin;
  }
  if (first == nullptr) return;
  throw InputError("/nodes/fixed: node " + std::to_string(graph.file_id(first->node)) + " is pinned to device " + std::to_string(first->device) +
                   ", but the machine has devices 0 to " + std::to_string(machine.num_devices() - 1));
}

CostModel::CostModel(const Graph& graph, const Machine& machine)
    : graph_(&graph), machine_(&machine), devices_(machine.num_devices()) {
  if (devices_ < 1) throw InputError("machine: at least one device is needed");
  require_bounded_sums(graph, machine);
  index_speeds();
  index_links();
}

void CostModel::index_speeds() {
  std::vector<Millionths> speeds, distinct;
  for (const Device& device : machine_->devices) speeds.push_back(device.speed);
  speed_kind_ = kinds_of(speeds, distinct);
  const std::size_t kept = std::min(distinct.size(), kMaxSpeedKinds);
  duration_storage_.resize(kept);
  durations_.resize(distinct.size());
  for (std::size_t i = 0; i < kept; ++i) {
    if (distinct[i] == kOne) {
      durations_[i] = graph_->comp();
      continue;
    }
    std::vector<Nanoseconds>& durations = duration_storage_[i];
    durations.resize(graph_->num_nodes());
    for (NodeId v = 0; v < graph_->num_nodes(); ++v) durations[v] = ceil_mul_div(graph_->comp(v), kOne, distinct[i]);
    durations_[i] = durations;
  }
  homogeneous_ = distinct.size() == 1;
}

void CostModel::index_links() {
  const DeviceId k = devices_;
  const EdgeId edges = graph_->num_edges();
  std::vector<BytesPerSecond> bandwidths, distinct;
  std::map<std::pair<Nanoseconds, BytesPerSecond>, std::int64_t> pairs;  // ordered pairs of devices by their link
  for (DeviceId p = 0; p < k; ++p) {
    for (DeviceId q = 0; q < k; ++q) {
      if (p == q) continue;
      bandwidths.push_back(machine_->bandwidth[machine_->link(p, q)]);
      ++pairs[{machine_->latency[machine_->link(p, q)], bandwidths.back()}];
    }
  }
  const std::vector<std::uint32_t> kinds = kinds_of(bandwidths, distinct);
  link_kind_.assign(static_cast<std::size_t>(k) * k, 0);
  std::size_t next = 0;
  for (DeviceId p = 0; p < k; ++p) {
    for (DeviceId q = 0; q < k; ++q) {
      if (p != q) link_kind_[machine_->link(p, q)] = kinds[next++];
    }
  }
  if (distinct.size() <= kMaxLinkKinds) {
    transfers_.resize(distinct.size());
    for (std::size_t i = 0; i < distinct.size(); ++i) {
      transfers_[i].resize(edges);
      for (EdgeId e = 0; e < edges; ++e) transfers_[i][e] = transfer_time(graph_->bytes(e), distinct[i]);
    }
  }
  homogeneous_ = homogeneous_ && pairs.size() <= 1;
  if (pairs.size() <= 1) {
    mean_latency_ = pairs.empty() ? 0 : pairs.begin()->first.first;
    return;
  }
  mean_storage_.resize(edges);
  const Wide count = Wide(k) * (k - 1);
  for (EdgeId e = 0; e < edges; ++e) {
    Wide sum = 0;
    for (const auto& [link, times] : pairs) sum += Wide(link.first + transfer_time(graph_->bytes(e), link.second)) * times;
    mean_storage_[e] = static_cast<Nanoseconds>(sum / count);
  }
}

}  // namespace pardnn
