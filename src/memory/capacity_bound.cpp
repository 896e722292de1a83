#include "memory/capacity_bound.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace pardnn {
namespace {

__extension__ using Wide = __int128;

std::string node_text(const Graph& graph, NodeId v) { return "node " + std::to_string(graph.file_id(v)); }

class CapacityProof {
 public:
  CapacityProof(const Graph& graph, const Machine& machine) : graph_(graph), machine_(machine) {
    for (DeviceId d = 0; d < machine.num_devices(); ++d) {
      greatest_ = std::max(greatest_, machine.usable(d));
      total_ += machine.usable(d);
    }
    residual_.assign(static_cast<std::size_t>(graph.num_units()), 0);
    for (NodeId v = 0; v < graph.num_nodes(); ++v) {
      if (graph.is_residual(v)) residual_[graph.unit(v)] += graph.mem(v);
    }
    find_followers();
  }

  std::optional<std::string> find() const {
    for (const auto test : {&CapacityProof::all_residuals, &CapacityProof::one_unit, &CapacityProof::units_apart, &CapacityProof::one_node}) {
      if (auto proof = (this->*test)()) return proof;
    }
    return std::nullopt;
  }

 private:
  Bytes room_for(UnitId unit) const {
    return graph_.unit_fixed(unit) == kNoDevice ? greatest_ : machine_.usable(graph_.unit_fixed(unit));
  }

  std::optional<std::string> all_residuals() const {
    Wide sum = 0;
    for (const Bytes bytes : residual_) sum += bytes;
    if (sum <= total_) return std::nullopt;
    return "the residuals (parameters, optimizer state) hold " + format_bytes(static_cast<Bytes>(sum)) +
           " at all times, all devices together have " + format_bytes(static_cast<Bytes>(total_)) + " usable";
  }

  std::optional<std::string> one_unit() const {
    for (UnitId u = 0; u < graph_.num_units(); ++u) {
      if (residual_[u] <= room_for(u)) continue;
      return "the residuals tied to " + node_text(graph_, graph_.unit_nodes(u).front()) + " hold " + format_bytes(residual_[u]) +
             ", a device it may be on has " + format_bytes(room_for(u)) + " usable";
    }
    return std::nullopt;
  }

  /// Units of which no two fit on one device, more than there are devices that hold one.
  std::optional<std::string> units_apart() const {
    std::vector<Bytes> sizes;
    for (const Bytes bytes : residual_) {
      if (bytes > greatest_ / 2) sizes.push_back(bytes);
    }
    if (sizes.empty()) return std::nullopt;
    const Bytes least = *std::min_element(sizes.begin(), sizes.end());
    std::int64_t holders = 0;
    for (DeviceId d = 0; d < machine_.num_devices(); ++d) holders += machine_.usable(d) >= least;
    if (static_cast<std::int64_t>(sizes.size()) <= holders) return std::nullopt;
    return std::to_string(sizes.size()) + " residual units of more than half of the greatest device (" + format_bytes(greatest_) +
           " usable) need a device each, but only " + std::to_string(holders) + " devices can hold one";
  }

  std::optional<std::string> one_node() const {
    std::vector<std::pair<NodeId, Bytes>> inputs;  // (buffer, largest edge from it)
    for (NodeId v = 0; v < graph_.num_nodes(); ++v) {
      if (graph_.comp(v) == 0) continue;  // holds nothing for longer than no time
      const Wide need = need_of(v, inputs);
      if (need <= room_for(graph_.unit(v))) continue;
      return node_text(graph_, v) + " needs " + format_bytes(static_cast<Bytes>(std::min<Wide>(need, kSumLimit))) +
             " while it runs (its residuals, inputs, output and workspace), a device it may be on has " +
             format_bytes(room_for(graph_.unit(v))) + " usable";
    }
    return std::nullopt;
  }

  /// A view may run before its base, whose buffer is not there then. It follows it if it is reached from the base by views.
  void find_followers() {
    if (!graph_.has_aliases()) return;
    follows_root_.assign(static_cast<std::size_t>(graph_.num_nodes()), 0);
    for (NodeId v = 0; v < graph_.num_nodes(); ++v) {
      bool follows = graph_.root(v) == v;
      for (EdgeId i = graph_.in_begin(v); !follows && i < graph_.in_end(v); ++i) {
        const NodeId u = graph_.source(i);
        follows = graph_.root(u) == graph_.root(v) && follows_root_[u] != 0;
      }
      follows_root_[v] = follows ? 1 : 0;
    }
  }
  bool follows_root(NodeId v) const { return follows_root_.empty() || follows_root_[v] != 0; }

  /// Bytes that v's device holds at least while v runs: each input is there as the buffer itself or as a copy.
  Wide need_of(NodeId v, std::vector<std::pair<NodeId, Bytes>>& inputs) const {
    const NodeId own = graph_.root(v);
    inputs.clear();
    for (EdgeId i = graph_.in_begin(v); i < graph_.in_end(v); ++i) {
      const NodeId root = graph_.root(graph_.source(i));
      if (root != own && follows_root(graph_.source(i))) inputs.emplace_back(root, graph_.bytes(graph_.in_edge(i)));
    }
    std::sort(inputs.begin(), inputs.end());
    Wide need = Wide(residual_[graph_.unit(v)]) + graph_.temp(v);
    if (graph_.kind(own) == NodeKind::normal && follows_root(v)) need += graph_.mem(own);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const NodeId root = inputs[i].first;
      if (i + 1 < inputs.size() && inputs[i + 1].first == root) continue;  // the last one has the most bytes
      const bool counted = graph_.is_residual(root) && graph_.unit(root) == graph_.unit(v);
      if (!counted && graph_.kind(root) != NodeKind::reference) need += std::min(graph_.mem(root), inputs[i].second);
    }
    return need;
  }

  const Graph& graph_;
  const Machine& machine_;
  Bytes greatest_ = 0;
  Wide total_ = 0;
  std::vector<Bytes> residual_;             // by unit
  std::vector<std::uint8_t> follows_root_;  // by node; only with aliases
};

}  // namespace

std::optional<std::string> proof_that_nothing_fits(const Graph& graph, const Machine& machine) {
  return CapacityProof(graph, machine).find();
}

}  // namespace pardnn
