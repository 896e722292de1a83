#include "memory/capacity_bound.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "memory/bin_packing.hpp"
#include "memory/live_cut.hpp"

namespace pardnn {
namespace {

__extension__ using Wide = __int128;

/// Cuts whose pieces are packed, at most.
constexpr std::size_t kPackedNodes = 6;
/// Thresholds of what units need beside their residuals, at most.
constexpr std::size_t kThresholds = 16;

std::string node_text(const Graph& graph, NodeId v) { return "node " + std::to_string(graph.file_id(v)); }

/// The greatest need of its kind, the node that has it, and the one that runs meanwhile (-1: at all times).
struct Need {
  Bytes bytes = 0;
  NodeId node = -1;
  NodeId running = -1;
  void raise(const Need& other) {
    if (other.bytes > bytes) *this = other;
  }
};

/// What must be on one device at one moment, by where that may be.
struct DeviceNeeds {
  Need anywhere;           ///< of units that nobody pinned
  Need beside_pinned;      ///< the same without residuals of other units: adds to what is pinned to a device
  std::vector<Need> pinned;  ///< by device: with all residuals pinned there
};

/// Pieces by falling size that no device can share out.
struct Pieces {
  std::vector<Bytes> sizes;
  NodeId node = -1;  ///< while this node runs; -1: at all times
  Bytes beside = 0;  ///< so much is on a device with any of them, at one moment or another, whichever they are
};

class CapacityProof {
 public:
  CapacityProof(const Graph& graph, const Machine& machine, std::int64_t visits)
      : graph_(graph), machine_(machine), cuts_(graph) {
    for (DeviceId d = 0; d < machine.num_devices(); ++d) {
      usable_.push_back(machine.usable(d));
      total_ += machine.usable(d);
    }
    sum_residuals();
    find_followers();
    find_device_needs();
    live_ = cuts_.greatest(visits);
    for (const UnitCut& cut : cuts_.unit_cuts()) {
      if (cut.bytes > 0) raise(cut.unit, cut.bytes, 0, {0, graph.unit_nodes(cut.unit).front(), cut.node});
    }
    find_pieces();
  }

  std::optional<std::string> proof() const {
    for (const auto test : {&CapacityProof::all_residuals, &CapacityProof::one_device, &CapacityProof::units_apart,
                            &CapacityProof::one_cut, &CapacityProof::packing}) {
      if (auto found = (this->*test)()) return found;
    }
    return std::nullopt;
  }

  CapacityBound bound() const {
    const Wide devices = machine_.num_devices();
    CapacityBound bound;
    Bytes usable = 0;
    const auto raise_to = [&](Bytes bytes, const std::string& why) {
      if (bytes <= usable) return;
      usable = bytes;
      bound.why = why;
    };
    raise_to(share(residual_sum_, devices), "the residuals (parameters, optimizer state) hold " + format_bytes(residual_sum_) + " at all times");
    if (!live_.empty()) raise_to(share(live_.front().bytes, devices), cut_text(live_.front()));
    raise_to(needs_.anywhere.bytes, need_text(needs_.anywhere));
    for (const Need& need : needs_.pinned) raise_to(need.bytes, need_text(need));
    if (!pinned_residual_.empty()) {
      const Bytes beside = *std::min_element(pinned_residual_.begin(), pinned_residual_.end());
      raise_to(needs_.beside_pinned.bytes + beside, need_text(needs_.beside_pinned) + " beside what is pinned to it");
    }
    for (bool raised = true; raised;) {  // until no pieces refute it
      raised = false;
      for (const Pieces& pieces : pieces_) {
        const Bytes packed = least_packing(pieces, usable);
        if (packed <= usable) continue;
        raise_to(packed, pieces_text(pieces));
        raised = true;
      }
    }
    bound.per_device_equal = ceil_mul_div(usable, kOne, kOne - machine_.headroom);
    return bound;
  }

 private:
  static Bytes share(Bytes bytes, Wide devices) { return static_cast<Bytes>((Wide(bytes) + devices - 1) / devices); }

  void sum_residuals() {
    residual_.assign(static_cast<std::size_t>(graph_.num_units()), 0);
    beside_.assign(static_cast<std::size_t>(graph_.num_units()), 0);
    pinned_residual_.assign(usable_.size(), 0);
    for (NodeId v = 0; v < graph_.num_nodes(); ++v) {
      if (!graph_.is_residual(v)) continue;
      residual_[graph_.unit(v)] += graph_.mem(v);
      residual_sum_ += graph_.mem(v);
      if (is_pinned(graph_.unit(v))) pinned_residual_[graph_.fixed(v)] += graph_.mem(v);
    }
  }

  /// Pinned to a device that exists (another is reported elsewhere).
  bool is_pinned(UnitId u) const { return graph_.unit_fixed(u) != kNoDevice && graph_.unit_fixed(u) < machine_.num_devices(); }

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

  /// The device of `unit` holds its residuals (or all those pinned there) and `own`, and `copies` of what is counted as
  /// residual of other units. `who`: the nodes to name.
  void raise(UnitId unit, Bytes own, Bytes copies, const Need& who) {
    const auto raise_to = [&](Need& need, Bytes bytes) { need.raise({bytes, who.node, who.running}); };
    if (is_pinned(unit)) {
      const DeviceId d = graph_.unit_fixed(unit);
      raise_to(needs_.pinned[d], pinned_residual_[d] + own + copies);
    } else {
      raise_to(needs_.anywhere, residual_[unit] + own + copies);
      raise_to(needs_.beside_pinned, residual_[unit] + own);
    }
  }

  void find_device_needs() {
    needs_.pinned.resize(usable_.size());
    for (UnitId u = 0; u < graph_.num_units(); ++u) {
      if (residual_[u] > 0) raise(u, 0, 0, {0, graph_.unit_nodes(u).front(), -1});
    }
    for (NodeId v = 0; v < graph_.num_nodes(); ++v) {
      if (graph_.comp(v) == 0) continue;  // holds nothing for longer than no time
      const RunningNeed need = need_of(v);
      raise(graph_.unit(v), need.own, need.copies, {0, v, v});
      Bytes& beside = beside_[graph_.unit(v)];
      beside = std::max(beside, need.own);
    }
  }

  struct RunningNeed {
    Bytes own = 0;     ///< inputs that are no residuals, output, workspace
    Bytes copies = 0;  ///< inputs that are residuals of units elsewhere, or copies of them
  };

  /// Bytes that v's device holds at least while v runs, beside its residuals: each input is there as the buffer itself or as a copy.
  RunningNeed need_of(NodeId v) {
    const NodeId own = graph_.root(v);
    inputs_.clear();
    for (EdgeId i = graph_.in_begin(v); i < graph_.in_end(v); ++i) {
      const NodeId root = graph_.root(graph_.source(i));
      if (root != own && follows_root(graph_.source(i))) inputs_.emplace_back(root, graph_.bytes(graph_.in_edge(i)));
    }
    std::sort(inputs_.begin(), inputs_.end());
    RunningNeed need{graph_.temp(v), 0};
    if (graph_.kind(own) == NodeKind::normal && follows_root(v)) need.own += graph_.mem(own);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const NodeId root = inputs_[i].first;
      if (i + 1 < inputs_.size() && inputs_[i + 1].first == root) continue;  // the last one has the most bytes
      const Bytes bytes = std::min(graph_.mem(root), inputs_[i].second);
      if (graph_.kind(root) == NodeKind::normal) need.own += bytes;
      if (graph_.is_residual(root) && !is_counted(graph_.unit(root), graph_.unit(v))) need.copies += bytes;
    }
    return need;
  }

  /// The residuals of `unit` are on the device of `other` for certain, and counted there.
  bool is_counted(UnitId unit, UnitId other) const {
    return unit == other || (is_pinned(unit) && is_pinned(other) && graph_.unit_fixed(unit) == graph_.unit_fixed(other));
  }

  // Packing.

  /// Residuals that must stay together: those of a unit, those pinned to one device. `running` and `extra`: this unit holds so much more.
  std::vector<Bytes> residual_pieces(UnitId running, Bytes extra) const {
    std::vector<Bytes> sizes;
    for (UnitId u = 0; u < graph_.num_units(); ++u) {
      if (is_pinned(u)) continue;
      const Bytes size = residual_[u] + (u == running ? extra : 0);
      if (size > 0) sizes.push_back(size);
    }
    for (DeviceId d = 0; d < machine_.num_devices(); ++d) {
      const bool here = running >= 0 && is_pinned(running) && graph_.unit_fixed(running) == d;
      const Bytes size = pinned_residual_[d] + (here ? extra : 0);
      if (size > 0) sizes.push_back(size);
    }
    return sizes;
  }

  void add_pieces(std::vector<Bytes> sizes, NodeId node, Bytes beside = 0) {
    std::sort(sizes.begin(), sizes.end(), std::greater<>());
    pieces_.push_back({std::move(sizes), node, beside});
  }

  /// Residuals with what a running node of their unit needs beside them. Devices hold the residuals of all their units when
  /// that node runs: those that have one of the units with the greatest needs have so much less room for residuals.
  void add_residuals_beside() {
    std::vector<std::pair<Bytes, Bytes>> pieces;  // (beside, residuals)
    std::vector<Bytes> pinned_beside(usable_.size(), 0);
    for (UnitId u = 0; u < graph_.num_units(); ++u) {
      if (is_pinned(u)) {
        Bytes& beside = pinned_beside[graph_.unit_fixed(u)];
        beside = std::max(beside, beside_[u]);
      } else if (residual_[u] > 0 && beside_[u] > 0) {
        pieces.emplace_back(beside_[u], residual_[u]);
      }
    }
    for (std::size_t d = 0; d < usable_.size(); ++d) {
      if (pinned_residual_[d] > 0 && pinned_beside[d] > 0) pieces.emplace_back(pinned_beside[d], pinned_residual_[d]);
    }
    std::sort(pieces.begin(), pieces.end(), std::greater<>());
    std::vector<std::size_t> ends;  // behind all pieces with at least the same beside
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (i + 1 == pieces.size() || pieces[i + 1].first != pieces[i].first) ends.push_back(i + 1);
    }
    const std::size_t step = (ends.size() + kThresholds - 1) / kThresholds;
    for (std::size_t i = 0; i < ends.size(); i += step) {
      std::vector<Bytes> sizes;
      for (std::size_t j = 0; j < ends[i]; ++j) sizes.push_back(pieces[j].second);
      add_pieces(std::move(sizes), -1, pieces[ends[i] - 1].first);
    }
  }

  /// All that is live while v runs: v with its inputs and output is one piece, every other buffer one.
  void add_running_pieces(NodeId v) {
    const RunningNeed need = need_of(v);
    std::vector<NodeId> counted{graph_.root(v)};
    for (const auto& input : inputs_) counted.push_back(input.first);
    std::sort(counted.begin(), counted.end());
    std::vector<Bytes> sizes = residual_pieces(graph_.unit(v), need.own);
    for (const LivePiece& piece : cuts_.pieces(v)) {
      if (!std::binary_search(counted.begin(), counted.end(), piece.root)) sizes.push_back(piece.bytes);
    }
    add_pieces(std::move(sizes), v);
  }

  void find_pieces() {
    add_pieces(residual_pieces(-1, 0), -1);
    std::vector<NodeId> nodes;
    const auto add = [&](NodeId v) {
      if (v >= 0 && graph_.comp(v) > 0 && std::find(nodes.begin(), nodes.end(), v) == nodes.end()) nodes.push_back(v);
    };
    for (const Need& need : {needs_.anywhere, needs_.beside_pinned}) {
      if (need.running == need.node) add(need.node);
    }
    for (std::size_t i = 0; i < live_.size() && nodes.size() < kPackedNodes; ++i) add(live_[i].node);
    for (const NodeId v : nodes) add_running_pieces(v);
    add_residuals_beside();
  }

  /// The pieces do not fit on devices of `capacity` at most that have `total` together: there are not enough devices, or so many
  /// hold something beside residuals that there is no room for all residuals.
  bool refutes(const Pieces& pieces, Bytes capacity, Wide total) const {
    if (capacity < pieces.beside) return true;
    const Wide devices = bins_needed(pieces.sizes, capacity - pieces.beside);
    return devices > machine_.num_devices() || (pieces.beside > 0 && residual_sum_ + devices * pieces.beside > total);
  }

  /// The greatest capacity above `known` that the bound refutes, plus one; `known` if there is none. What is refuted for a
  /// capacity is impossible for all lesser ones, whatever the bound says of them.
  Bytes least_packing(const Pieces& pieces, Bytes known) const {
    const auto refuted = [&](Bytes capacity) { return refutes(pieces, capacity, Wide(capacity) * machine_.num_devices()); };
    if (!refuted(known)) return known;
    Bytes low = known, high = known + 1;  // low is refuted
    while (high < kSumLimit && refuted(high)) {
      low = high;
      high = high > kSumLimit / 2 ? kSumLimit : high * 2;
    }
    while (high - low > 1) {
      const Bytes middle = low + (high - low) / 2;
      (refuted(middle) ? low : high) = middle;
    }
    return low + 1;
  }

  // Texts and tests.

  std::string cut_text(const LiveCut& cut) const {
    return "while " + node_text(graph_, cut.node) + " runs, " + format_bytes(cut.bytes) +
           " are held (residuals, and what was computed before it for it and after it)";
  }
  std::string need_text(const Need& need) const {
    if (need.node < 0) return {};  // nothing is needed: it raises no bound
    const std::string text = node_text(graph_, need.node) + " needs " + format_bytes(need.bytes) + " on its device ";
    if (need.running < 0) return text + "at all times (the residuals tied to it)";
    if (need.running == need.node) return text + "while it runs (the residuals tied to it, its inputs, output and workspace)";
    return text + "while " + node_text(graph_, need.running) + " runs (all that is tied to it or waits for what is tied to it)";
  }
  std::string pieces_text(const Pieces& pieces) const {
    const std::string what = pieces.node < 0 ? "the residuals that are tied together"
                                             : "residuals and buffers that are live while " + node_text(graph_, pieces.node) + " runs";
    const std::string beside = pieces.beside == 0 ? "" : ", each beside " + format_bytes(pieces.beside) + " while a node that is tied to it runs";
    return what + " are " + std::to_string(pieces.sizes.size()) + " pieces, the greatest of " + format_bytes(pieces.sizes.front()) + beside +
           ", that do not divide among " + std::to_string(machine_.num_devices()) + " devices";
  }
  std::string total_text() const {
    return ", all devices together have " + format_bytes(static_cast<Bytes>(std::min<Wide>(total_, kSumLimit))) + " usable";
  }
  static std::string room_text(Bytes room) { return ", a device it may be on has " + format_bytes(room) + " usable"; }
  Bytes greatest_usable() const { return usable_.empty() ? 0 : *std::max_element(usable_.begin(), usable_.end()); }

  std::optional<std::string> all_residuals() const {
    if (residual_sum_ <= total_) return std::nullopt;
    return "the residuals (parameters, optimizer state) hold " + format_bytes(residual_sum_) + " at all times" + total_text();
  }

  std::optional<std::string> one_device() const {
    for (DeviceId d = 0; d < machine_.num_devices(); ++d) {
      if (needs_.pinned[d].bytes > usable_[d]) return need_text(needs_.pinned[d]) + room_text(usable_[d]);
    }
    if (needs_.anywhere.bytes > greatest_usable()) return need_text(needs_.anywhere) + room_text(greatest_usable());
    Bytes room = 0;
    for (DeviceId d = 0; d < machine_.num_devices(); ++d) room = std::max(room, usable_[d] - pinned_residual_[d]);
    if (needs_.beside_pinned.bytes > room) return need_text(needs_.beside_pinned) + room_text(room) + " beside what is pinned to it";
    return std::nullopt;
  }

  /// Units of which no two fit on one device, more than there are devices that hold one.
  std::optional<std::string> units_apart() const {
    std::vector<Bytes> sizes;
    for (const Bytes bytes : residual_) {
      if (bytes > greatest_usable() / 2) sizes.push_back(bytes);
    }
    if (sizes.empty()) return std::nullopt;
    const Bytes least = *std::min_element(sizes.begin(), sizes.end());
    std::int64_t holders = 0;
    for (const Bytes usable : usable_) holders += usable >= least;
    if (static_cast<std::int64_t>(sizes.size()) <= holders) return std::nullopt;
    return std::to_string(sizes.size()) + " residual units of more than half of the greatest device (" + format_bytes(greatest_usable()) +
           " usable) need a device each, but only " + std::to_string(holders) + " devices can hold one";
  }

  std::optional<std::string> one_cut() const {
    if (live_.empty() || live_.front().bytes <= total_) return std::nullopt;
    return cut_text(live_.front()) + total_text();
  }

  std::optional<std::string> packing() const {
    for (const Pieces& pieces : pieces_) {
      if (refutes(pieces, greatest_usable(), total_)) {
        return pieces_text(pieces) + " of " + format_bytes(greatest_usable()) + " usable at most";
      }
    }
    return std::nullopt;
  }

  const Graph& graph_;
  const Machine& machine_;
  LiveCuts cuts_;
  std::vector<Bytes> usable_;
  Wide total_ = 0;
  std::vector<Bytes> residual_;         // by unit
  std::vector<Bytes> beside_;           // by unit: the most that a running node of it needs of its own
  std::vector<Bytes> pinned_residual_;  // by device
  Bytes residual_sum_ = 0;
  std::vector<std::uint8_t> follows_root_;         // by node; only with aliases
  std::vector<std::pair<NodeId, Bytes>> inputs_;   // of the node looked at last: (buffer, bytes of an edge from it)
  DeviceNeeds needs_;
  std::vector<LiveCut> live_;
  std::vector<Pieces> pieces_;
};

}  // namespace

CapacityVerdict capacity_verdict(const Graph& graph, const Machine& machine, std::int64_t visits) {
  const CapacityProof proof(graph, machine, visits);
  return {proof.proof(), proof.bound()};
}

std::optional<std::string> proof_that_nothing_fits(const Graph& graph, const Machine& machine) {
  return CapacityProof(graph, machine, kCapacityVisits).proof();
}

}  // namespace pardnn
