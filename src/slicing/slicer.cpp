#include "slicing/slicer.hpp"

#include <algorithm>
#include <utility>

#include "levels/shrinking_levels.hpp"
#include "parallel/random.hpp"

namespace pardnn {

namespace {

constexpr std::uint64_t kJitterStage = 0x736C696365;  // "slice"

/// The nodes' times, each scaled by its random factor; empty without jitter.
std::vector<Nanoseconds> jittered_weights(const Graph& graph, const SlicingOptions& options) {
  if (options.jitter <= 0) return {};
  const Millionths jitter = std::min(options.jitter, kOne);
  std::vector<Nanoseconds> weights(graph.num_nodes());
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    const std::uint64_t bits = random_bits(options.seed, kJitterStage, static_cast<std::uint64_t>(graph.file_id(v)));
    const auto above_least = static_cast<Millionths>(random_below(bits, static_cast<std::uint64_t>(2 * jitter + 1)));
    weights[v] = ceil_mul_div(graph.comp(v), kOne - jitter + above_least, kOne);
  }
  return weights;
}

class Slicer {
 public:
  Slicer(const CostModel& costs, const SlicingOptions& options)
      : graph_(costs.graph()), options_(options), levels_(costs, jittered_weights(graph_, options)) {
    const NodeId nodes = graph_.num_nodes();
    removed_.assign(nodes, 0);
    waiting_.resize(nodes);
    for (NodeId v = 0; v < nodes; ++v) waiting_[v] = graph_.in_degree(v);
    left_ = nodes;
    result_.of_unit.resize(graph_.num_units());
    result_.units.reserve(graph_.num_units());
    result_.primaries = options.primaries;
  }

  Clustering slice() {
    const ClusterId rounds = options_.recomputations < 0 ? options_.primaries : options_.recomputations;
    levels_.recompute(removed_);
    for (ClusterId round = 0; round < rounds && left_ > 0; ++round) {
      take_path(heaviest_source());
      if (left_ > 0) levels_.recompute(removed_);
    }
    take_remaining_paths();
    while (result_.num_clusters() < options_.primaries) close_cluster(kNoDevice);
    return std::move(result_);
  }

 private:
  struct Source {
    Nanoseconds level;
    std::int64_t file_id;
    NodeId node;
    /// Heap order: the greatest level first, then the lowest file id.
    bool operator<(const Source& other) const { return level != other.level ? level < other.level : file_id > other.file_id; }
  };

  Source source(NodeId v) const { return {levels_.levels().weighted(v), graph_.file_id(v), v}; }
  bool is_source(NodeId v) const { return waiting_[v] == 0 && removed_[v] == 0; }

  /// O(V); some node must be left.
  NodeId heaviest_source() const {
    Source best{-1, 0, -1};
    for (NodeId v = 0; v < graph_.num_nodes(); ++v) {
      if (is_source(v) && best < source(v)) best = source(v);
    }
    return best.node;
  }

  /// Paths without computing levels again; sources wait in a heap. O(V log V + E).
  void take_remaining_paths() {
    collecting_ = true;
    for (NodeId v = 0; v < graph_.num_nodes(); ++v) {
      if (is_source(v)) sources_.push_back(source(v));
    }
    std::make_heap(sources_.begin(), sources_.end());
    while (!sources_.empty()) {
      std::pop_heap(sources_.begin(), sources_.end());
      const NodeId start = sources_.back().node;
      sources_.pop_back();
      if (removed_[start] == 0) take_path(start);
    }
  }

  void take_path(NodeId start) {
    DeviceId device = kNoDevice;
    for (NodeId v = start; v >= 0; v = heaviest_successor(v, device)) {
      if (graph_.fixed(v) != kNoDevice) device = graph_.fixed(v);
      take_unit(graph_.unit(v));
    }
    close_cluster(device);
  }

  /// Where a path pinned to `device` (or to none) goes on from v; -1 at a dead end.
  NodeId heaviest_successor(NodeId v, DeviceId device) const {
    const WeightedLevels& levels = levels_.levels();
    NodeId best = -1;
    Nanoseconds best_level = -1, best_way_on = -1;
    for (EdgeId e = graph_.out_begin(v); e < graph_.out_end(v); ++e) {  // by file id: the first wins ties
      const NodeId w = graph_.target(e);
      if (removed_[w] != 0 || levels.weighted(w) < best_level || !may_join(w, device)) continue;
      const Nanoseconds way_on = levels_.out_cost(e) + levels.bottom[w];
      if (levels.weighted(w) == best_level && way_on <= best_way_on) continue;
      best = w;
      best_level = levels.weighted(w);
      best_way_on = way_on;
    }
    return best;
  }

  bool may_join(NodeId v, DeviceId device) const {
    const DeviceId fixed = graph_.fixed(v);
    return fixed == kNoDevice || device == kNoDevice || fixed == device;
  }

  void take_unit(UnitId unit) {
    result_.of_unit[unit] = result_.num_clusters();
    result_.units.push_back(unit);
    for (const NodeId v : graph_.unit_nodes(unit)) removed_[v] = 1;
    for (const NodeId v : graph_.unit_nodes(unit)) release_successors(v);
    left_ -= static_cast<NodeId>(graph_.unit_nodes(unit).size());
  }

  void release_successors(NodeId v) {
    for (EdgeId e = graph_.out_begin(v); e < graph_.out_end(v); ++e) {
      const NodeId w = graph_.target(e);
      if (--waiting_[w] != 0 || removed_[w] != 0 || !collecting_) continue;
      sources_.push_back(source(w));
      std::push_heap(sources_.begin(), sources_.end());
    }
  }

  void close_cluster(DeviceId device) {
    result_.offsets.push_back(static_cast<std::int64_t>(result_.units.size()));
    result_.fixed.push_back(device);
  }

  const Graph& graph_;
  const SlicingOptions& options_;
  ShrinkingLevels levels_;
  std::vector<char> removed_;
  std::vector<EdgeId> waiting_;  // remaining in-edges
  NodeId left_ = 0;
  std::vector<Source> sources_;  // heap; may hold nodes that have left meanwhile
  bool collecting_ = false;
  Clustering result_;
};

}  // namespace

Clustering slice_graph(const CostModel& costs, const SlicingOptions& options) { return Slicer(costs, options).slice(); }

}  // namespace pardnn
