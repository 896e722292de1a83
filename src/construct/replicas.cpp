#include "construct/replicas.hpp"

#include <algorithm>
#include <numeric>

#include "graph/units.hpp"

namespace pardnn {
namespace {

constexpr NodeId kNone = -1;    ///< nothing but parameters before it
constexpr NodeId kShared = -2;  ///< several replicas before it
/// Lines of inputs with less than this part of an even share of the work do not count as a replica yet.
constexpr std::int64_t kEarlyPart = 64;

class ReplicaFinder {
 public:
  explicit ReplicaFinder(const Graph& graph)
      : graph_(graph), lines_(graph.num_nodes()), label_(static_cast<std::size_t>(graph.num_nodes()), kNone),
        home_(label_.size(), kNone), work_(label_.size(), 0) {
    std::int64_t inputs = 0;
    for (NodeId v = 0; v < graph.num_nodes(); ++v) inputs += is_input(v);
    early_ = graph.total_comp() / kEarlyPart / std::max<std::int64_t>(inputs, 1);
  }

  Replicas find() {
    for (NodeId v = 0; v < graph_.num_nodes(); ++v) {
      label_[v] = label_of(v);
      if (label_[v] >= 0) work_[label_[v]] += graph_.comp(v);
    }
    return number();
  }

 private:
  struct Votes {
    NodeId line;
    Bytes bytes;
  };

  bool is_input(NodeId v) const { return graph_.in_degree(v) == 0 && graph_.kind(v) == NodeKind::normal; }

  NodeId label_of(NodeId v) {
    if (graph_.kind(v) == NodeKind::residual) return kNone;
    if (graph_.kind(v) == NodeKind::reference) return kShared;
    if (graph_.in_degree(v) == 0) return v;
    Bytes shared = -1;
    collect_votes(v, shared);
    if (votes_.empty()) return shared >= 0 ? kShared : kNone;
    const auto heavy = std::count_if(votes_.begin(), votes_.end(), [&](const Votes& vote) { return work_[vote.line] > early_; });
    const auto main = std::max_element(votes_.begin(), votes_.end(), [&](const Votes& a, const Votes& b) {
      return work_[a.line] != work_[b.line] ? work_[a.line] < work_[b.line] : graph_.file_id(a.line) > graph_.file_id(b.line);
    });
    if (heavy > 1 || (shared > 0 && shared >= main->bytes)) {
      // What comes last of a sum decides where it is added up.
      home_[v] = heavy > 1 ? last_arrival(v) : main->line;
      return kShared;
    }
    return join(main->line);
  }

  /// Bytes that come from each line, and (-1: none) from nodes that several lines feed.
  void collect_votes(NodeId v, Bytes& shared) {
    votes_.clear();
    for (EdgeId i = graph_.in_begin(v); i < graph_.in_end(v); ++i) {
      const NodeId label = label_[graph_.source(i)];
      const Bytes bytes = graph_.bytes(graph_.in_edge(i));
      if (label == kShared) shared = std::max<Bytes>(shared, 0) + bytes;
      if (label >= 0) votes_.push_back({lines_.find(label), bytes});
    }
    std::sort(votes_.begin(), votes_.end(), [](const Votes& a, const Votes& b) { return a.line < b.line; });
    std::size_t kept = 0;
    for (std::size_t i = 0; i < votes_.size(); ++i) {
      if (kept > 0 && votes_[kept - 1].line == votes_[i].line) votes_[kept - 1].bytes += votes_[i].bytes;
      else votes_[kept++] = votes_[i];
    }
    votes_.resize(kept);
  }

  /// The line of the last of v's inputs by depth.
  NodeId last_arrival(NodeId v) {
    NodeId last = -1;
    for (EdgeId i = graph_.in_begin(v); i < graph_.in_end(v); ++i) {
      if (label_[graph_.source(i)] >= 0) last = std::max(last, graph_.source(i));
    }
    return lines_.find(label_[last]);
  }

  /// All lines that meet become one.
  NodeId join(NodeId main) {
    for (const Votes& vote : votes_) {
      if (vote.line == main) continue;
      const Nanoseconds all = work_[main] + work_[vote.line];
      lines_.join(main, vote.line);
      main = lines_.find(main);
      work_[main] = all;
    }
    return main;
  }

  Replicas number() {
    Replicas replicas;
    replicas.of_node.assign(label_.size(), -1);
    std::vector<std::int32_t> number(label_.size(), -1);
    for (NodeId v = 0; v < graph_.num_nodes(); ++v) {
      if (label_[v] < 0) continue;
      const NodeId line = lines_.find(label_[v]);
      if (work_[line] <= early_) continue;
      if (number[line] < 0) {
        number[line] = replicas.count++;
        replicas.work += work_[line];
      }
      replicas.of_node[v] = number[line];
    }
    replicas.meets_at = replicas.of_node;
    for (NodeId v = 0; v < graph_.num_nodes(); ++v) {
      if (home_[v] >= 0) replicas.meets_at[v] = number[lines_.find(home_[v])];
    }
    return replicas;
  }

  const Graph& graph_;
  DisjointSets lines_;
  std::vector<NodeId> label_;
  std::vector<NodeId> home_;       ///< of a meeting: the line to which it is nearest
  std::vector<Nanoseconds> work_;  ///< of each line, at its representative
  std::vector<Votes> votes_;
  Nanoseconds early_ = 0;
};

}  // namespace

Replicas find_replicas(const Graph& graph) { return ReplicaFinder(graph).find(); }

}  // namespace pardnn
