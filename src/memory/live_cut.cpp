#include "memory/live_cut.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace pardnn {
namespace {

constexpr NodeId kNoNode = std::numeric_limits<NodeId>::max();
/// Chains whose nodes are also looked at unit by unit, at most.
constexpr int kUnitChains = 8;

}  // namespace

LiveCuts::LiveCuts(const Graph& graph)
    : graph_(graph), members_(graph), seen_(static_cast<std::size_t>(graph.num_nodes()), 0),
      before_(static_cast<std::size_t>(graph.num_nodes())), after_(static_cast<std::size_t>(graph.num_nodes())) {
  for (NodeId v = 0; v < graph.num_nodes(); ++v) residual_ += graph.is_residual(v) ? graph.mem(v) : 0;
}

/// What is between the depths of its root and of its last use may be live at a node of a depth, nothing else.
void LiveCuts::bound_by_depth() {
  const std::int64_t depths = graph_.num_depths();
  std::vector<std::int64_t> depth(static_cast<std::size_t>(graph_.num_nodes()));
  depth_bound_.assign(static_cast<std::size_t>(depths) + 1, 0);
  std::vector<Bytes> workspace(static_cast<std::size_t>(depths), 0);
  for (std::int64_t d = 0; d < depths; ++d) {
    for (NodeId v = graph_.depth_begin(d); v < graph_.depth_end(d); ++v) {
      depth[v] = d;
      workspace[d] = std::max(workspace[d], graph_.temp(v));
    }
  }
  for (NodeId root = 0; root < graph_.num_nodes(); ++root) {
    if (!is_buffer(root)) continue;
    std::int64_t last = depth[root];
    for (const NodeId m : members_.of(root)) {
      last = std::max(last, depth[m]);
      for (EdgeId e = graph_.out_begin(m); e < graph_.out_end(m); ++e) {
        if (graph_.bytes(e) > 0) last = std::max(last, depth[graph_.target(e)]);
      }
    }
    depth_bound_[depth[root]] += graph_.mem(root);
    depth_bound_[last + 1] -= graph_.mem(root);
  }
  Bytes live = residual_;
  for (std::int64_t d = 0; d < depths; ++d) {
    live += depth_bound_[d];
    depth_bound_[d] = live + workspace[d];
  }
  depth_bound_.pop_back();
}

/// The longest path through nodes that take time, are not seen yet, and are at a depth where a cut may be greater than
/// `to_beat`; only such nodes of it. Empty if there are none.
std::vector<NodeId> LiveCuts::next_chain(Bytes to_beat) {
  length_.resize(static_cast<std::size_t>(graph_.num_nodes()));
  const auto counts = [&](NodeId v, std::int64_t d) { return graph_.comp(v) > 0 && seen_[v] == 0 && depth_bound_[d] > to_beat; };
  NodeId end = -1, longest = 0;
  for (std::int64_t d = 0; d < graph_.num_depths(); ++d) {
    for (NodeId v = graph_.depth_begin(d); v < graph_.depth_end(d); ++v) {
      NodeId before = 0;
      for (EdgeId i = graph_.in_begin(v); i < graph_.in_end(v); ++i) before = std::max(before, length_[graph_.source(i)]);
      length_[v] = before + (counts(v, d) ? 1 : 0);
      if (length_[v] > longest) {
        longest = length_[v];
        end = v;
      }
    }
  }
  std::vector<NodeId> chain;
  for (NodeId v = end; v >= 0;) {
    NodeId from = -1;
    for (EdgeId i = graph_.in_begin(v); i < graph_.in_end(v); ++i) {
      const NodeId u = graph_.source(i);
      if (from < 0 || length_[u] > length_[from]) from = u;
    }
    if (length_[v] > (from < 0 ? 0 : length_[from])) chain.push_back(v);
    v = from >= 0 && length_[from] > 0 ? from : -1;
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

void LiveCuts::label(std::span<const NodeId> chain) {
  std::fill(before_.begin(), before_.end(), kNoNode);
  std::fill(after_.begin(), after_.end(), -1);
  for (NodeId i = 0; i < static_cast<NodeId>(chain.size()); ++i) before_[chain[i]] = after_[chain[i]] = i;
  for (NodeId v = graph_.num_nodes() - 1; v >= 0; --v) {
    for (EdgeId e = graph_.out_begin(v); e < graph_.out_end(v); ++e) before_[v] = std::min(before_[v], before_[graph_.target(e)]);
  }
  for (NodeId v = 0; v < graph_.num_nodes(); ++v) {
    for (EdgeId i = graph_.in_begin(v); i < graph_.in_end(v); ++i) after_[v] = std::max(after_[v], after_[graph_.source(i)]);
  }
}

/// Until where a member has still to end, which keeps the buffer itself.
NodeId LiveCuts::last_member(NodeId root) const {
  NodeId last = -1;
  for (const NodeId m : members_.of(root)) last = std::max(last, after_[m]);
  return last;
}

/// feeds_ = edges out of the buffer that are needed at `from` or later; copies_ = as many zeros as they have outputs.
void LiveCuts::gather_feeds(NodeId root, NodeId from) {
  feeds_.clear();
  std::int64_t outputs = 0;
  for (const NodeId m : members_.of(root)) {
    std::int64_t most = 0;
    for (EdgeId e = graph_.out_begin(m); e < graph_.out_end(m); ++e) {
      if (graph_.bytes(e) == 0) continue;
      const NodeId until = after_[graph_.target(e)];
      if (until < from) continue;
      feeds_.push_back({until, outputs + graph_.output(e), graph_.bytes(e)});
      most = std::max<std::int64_t>(most, graph_.output(e));
    }
    outputs += most + 1;
  }
  copies_.assign(static_cast<std::size_t>(outputs), 0);
}

/// Adds what the buffer is worth at each node of the chain to `change` (differences).
void LiveCuts::add_buffer(NodeId root, std::vector<Bytes>& change) {
  const NodeId from = before_[root];
  if (from == kNoNode) return;
  const auto add = [&](NodeId first, NodeId last, Bytes bytes) {
    change[first] += bytes;
    change[last + 1] -= bytes;
  };
  const NodeId kept = last_member(root);
  if (kept >= from) add(from, kept, graph_.mem(root));
  const NodeId lower = std::max(from, kept + 1);
  gather_feeds(root, lower);
  std::sort(feeds_.begin(), feeds_.end(), [](const Feed& a, const Feed& b) { return a.until > b.until; });
  Bytes sum = 0;
  for (std::size_t i = 0; i < feeds_.size();) {
    const NodeId until = feeds_[i].until;
    for (; i < feeds_.size() && feeds_[i].until == until; ++i) {
      Bytes& copy = copies_[feeds_[i].output];
      sum += std::max<Bytes>(0, feeds_[i].bytes - copy);
      copy = std::max(copy, feeds_[i].bytes);
    }
    const bool whole = sum >= graph_.mem(root) || i == feeds_.size();
    add(whole ? lower : std::max(lower, feeds_[i].until + 1), until, std::min(sum, graph_.mem(root)));
    if (whole) return;
  }
}

std::vector<Bytes> LiveCuts::sum_along(std::span<const NodeId> chain) {
  std::vector<Bytes> change(chain.size() + 1, 0);
  for (NodeId v = 0; v < graph_.num_nodes(); ++v) {
    if (is_buffer(v)) add_buffer(v, change);
  }
  Bytes live = residual_;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    live += change[i];
    change[i] = live + graph_.temp(chain[i]);
  }
  change.pop_back();
  return change;
}

/// What one buffer obliges units to hold: its own unit as long as a member or a consumer within the unit has to run,
/// another one the buffer or a copy as long as its consumer has to.
void LiveCuts::note_unit_buffer(NodeId root) {
  const NodeId from = before_[root];
  if (from == kNoNode) return;
  const UnitId own = graph_.unit(root);
  NodeId kept = last_member(root);
  std::vector<UnitId> touched;
  for (const NodeId m : members_.of(root)) {
    for (EdgeId e = graph_.out_begin(m); e < graph_.out_end(m); ++e) {
      const NodeId until = after_[graph_.target(e)];
      if (graph_.bytes(e) == 0 || until < from) continue;
      const UnitId unit = graph_.unit(graph_.target(e));
      if (unit == own) kept = std::max(kept, until);
      if (unit == own || !has_company(unit)) continue;
      const Bytes bytes = std::min(graph_.bytes(e), graph_.mem(root));
      if (unit_bytes_[unit] == 0) touched.push_back(unit);
      if (std::pair(bytes, until) > std::pair(unit_bytes_[unit], unit_until_[unit])) {
        unit_bytes_[unit] = bytes;
        unit_until_[unit] = until;
      }
    }
  }
  const auto add = [&](UnitId unit, NodeId last, Bytes bytes) {
    unit_events_.push_back({unit, from, bytes});
    unit_events_.push_back({unit, last + 1, -bytes});
  };
  if (kept >= from && has_company(own)) add(own, kept, graph_.mem(root));
  for (const UnitId unit : touched) {
    add(unit, unit_until_[unit], unit_bytes_[unit]);
    unit_bytes_[unit] = 0;
  }
}

void LiveCuts::note_units(std::span<const NodeId> chain) {
  if (graph_.units_are_nodes()) return;
  unit_events_.clear();
  unit_bytes_.assign(static_cast<std::size_t>(graph_.num_units()), 0);
  unit_until_.assign(static_cast<std::size_t>(graph_.num_units()), -1);
  for (NodeId v = 0; v < graph_.num_nodes(); ++v) {
    if (is_buffer(v)) note_unit_buffer(v);
  }
  for (NodeId i = 0; i < static_cast<NodeId>(chain.size()); ++i) {
    const UnitId unit = graph_.unit(chain[i]);
    if (graph_.temp(chain[i]) == 0 || !has_company(unit)) continue;
    unit_events_.push_back({unit, i, graph_.temp(chain[i])});
    unit_events_.push_back({unit, i + 1, -graph_.temp(chain[i])});
  }
  std::sort(unit_events_.begin(), unit_events_.end(), [](const UnitEvent& a, const UnitEvent& b) {
    return a.unit != b.unit ? a.unit < b.unit : a.at != b.at ? a.at < b.at : a.bytes < b.bytes;
  });
  for (std::size_t i = 0; i < unit_events_.size();) {
    UnitCut greatest{unit_events_[i].unit, -1, 0};
    Bytes live = 0;
    for (; i < unit_events_.size() && unit_events_[i].unit == greatest.unit; ++i) {
      live += unit_events_[i].bytes;
      if (live <= greatest.bytes) continue;
      greatest.bytes = live;
      greatest.node = chain[unit_events_[i].at];
    }
    unit_cuts_.push_back(greatest);
  }
}

std::vector<LiveCut> LiveCuts::greatest(std::int64_t visits) {
  bound_by_depth();
  const std::int64_t chain_visits = 4 * (graph_.num_nodes() + graph_.num_edges()) + 1;
  std::vector<LiveCut> cuts;
  Bytes best = 0;
  int walked = 0;
  for (std::int64_t spent = 0; spent == 0 || spent + chain_visits <= visits; spent += chain_visits, ++walked) {
    const std::vector<NodeId> chain = next_chain(best);
    if (chain.empty()) break;
    label(chain);
    const std::vector<Bytes> held = sum_along(chain);
    const std::size_t at = static_cast<std::size_t>(std::max_element(held.begin(), held.end()) - held.begin());
    cuts.push_back({chain[at], held[at]});
    best = std::max(best, held[at]);
    if (walked < kUnitChains) note_units(chain);
    for (const NodeId v : chain) seen_[v] = 1;
  }
  std::sort(cuts.begin(), cuts.end(), [&](const LiveCut& a, const LiveCut& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : graph_.file_id(a.node) < graph_.file_id(b.node);
  });
  return cuts;
}

std::vector<LivePiece> LiveCuts::pieces(NodeId n) {
  label({&n, 1});
  std::vector<LivePiece> pieces;
  for (NodeId root = 0; root < graph_.num_nodes(); ++root) {
    if (!is_buffer(root) || before_[root] == kNoNode) continue;
    Bytes bytes = 0;
    if (last_member(root) >= 0) {
      bytes = graph_.mem(root);
    } else {
      gather_feeds(root, 0);
      for (const Feed& feed : feeds_) bytes = std::max(bytes, std::min(feed.bytes, graph_.mem(root)));
    }
    if (bytes > 0) pieces.push_back({root, bytes});
  }
  return pieces;
}

}  // namespace pardnn
