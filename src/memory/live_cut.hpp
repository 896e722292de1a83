/// What must be held somewhere while one node runs, wherever nodes are placed and in whatever order they run.
///
/// At the start of a node n that takes time, all its ancestors have ended and none of its descendants has. So a buffer
/// whose root is n or an ancestor of n is live if a member of it is n or a descendant, or feeds n or a descendant with
/// bytes: as the buffer itself, or, where all those consumers are on other devices, as copies of what the edges carry
/// (model.md, Memory). It counts `mem` in the first case, and the lesser of `mem` and the sum of the copies in the second.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/buffer_members.hpp"

namespace pardnn {

/// Bytes held at least while `node` runs.
struct LiveCut {
  NodeId node = -1;
  Bytes bytes = 0;
};

/// Bytes that the device of `unit` must hold at least while `node` runs, residuals left out.
struct UnitCut {
  UnitId unit = -1;
  NodeId node = -1;
  Bytes bytes = 0;
};

/// A buffer that is live while a node runs; `bytes` of it are on one device.
struct LivePiece {
  NodeId root;
  Bytes bytes;
};

class LiveCuts {
 public:
  /// Keeps a reference to `graph`. O(V).
  explicit LiveCuts(const Graph& graph);

  /// The greatest cuts of one node per chain of a path cover, over all devices together: residuals, buffers, workspace;
  /// the greatest first. Chains are longest paths through nodes not looked at yet that may still beat the best; one costs
  /// O(V + E log degree) for all its nodes together. At least one chain, then as many as `visits` of nodes and edges allow.
  std::vector<LiveCut> greatest(std::int64_t visits);

  /// For each unit of several nodes, its greatest cut along the chains that `greatest` walked first.
  const std::vector<UnitCut>& unit_cuts() const { return unit_cuts_; }

  /// What is live while n runs. O(V + E).
  std::vector<LivePiece> pieces(NodeId n);

 private:
  struct Feed {
    NodeId until;  // last node of the chain that this edge is needed at
    std::int64_t output;
    Bytes bytes;
  };
  struct UnitEvent {
    UnitId unit;
    NodeId at;
    Bytes bytes;
  };

  void bound_by_depth();
  std::vector<NodeId> next_chain(Bytes to_beat);
  void label(std::span<const NodeId> chain);
  std::vector<Bytes> sum_along(std::span<const NodeId> chain);
  void add_buffer(NodeId root, std::vector<Bytes>& change);
  void gather_feeds(NodeId root, NodeId from);
  NodeId last_member(NodeId root) const;
  void note_units(std::span<const NodeId> chain);
  void note_unit_buffer(NodeId root);
  bool is_buffer(NodeId v) const { return graph_.root(v) == v && graph_.kind(v) == NodeKind::normal && graph_.mem(v) > 0; }
  bool has_company(UnitId u) const { return !graph_.units_are_nodes() && graph_.unit_nodes(u).size() > 1; }

  const Graph& graph_;
  BufferMembers members_;
  Bytes residual_ = 0;
  std::vector<Bytes> depth_bound_;    // by depth: no node of it has a greater cut
  std::vector<std::uint8_t> seen_;    // nodes of earlier chains
  std::vector<NodeId> length_;        // nodes still to be seen on the longest path to v
  // By node, for a chain v_0 .. v_n: the first i with v before or at v_i, the last i with v after or at v_i.
  std::vector<NodeId> before_, after_;
  std::vector<Feed> feeds_;
  std::vector<Bytes> copies_;         // by output of a buffer: the greatest bytes so far
  std::vector<UnitEvent> unit_events_;
  std::vector<UnitCut> unit_cuts_;
  std::vector<NodeId> unit_until_;    // by unit, for one buffer
  std::vector<Bytes> unit_bytes_;
};

}  // namespace pardnn
