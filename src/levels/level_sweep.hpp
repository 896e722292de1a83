/// How sweeps over the topological order use threads. Private to this folder.
///
/// A barrier after each depth costs more than the work of a narrow depth, and DNN graphs have thousands of those. So
/// on narrow graphs, and with two threads always, the forward and the backward sweep run beside each other, each
/// serial; on wide graphs with more threads each depth of at least kWideDepth nodes is split, and the rest is serial.
#pragma once

#include <omp.h>

#include "pardnn/graph.hpp"

namespace pardnn {

/// Depths with fewer nodes stay serial: below this, waking a team costs more than it saves.
inline constexpr NodeId kWideDepth = 4096;
/// Graphs with fewer nodes and edges are swept by one thread.
inline constexpr std::int64_t kSerialSweep = 20'000;

/// Threads that a region started here may use.
inline int sweep_threads(const Graph& graph) {
  if (graph.num_nodes() + graph.num_edges() < kSerialSweep || omp_in_parallel() != 0) return 1;
  return omp_get_max_threads();
}

/// True if most nodes lie in wide depths. O(depths).
inline bool is_mostly_wide(const Graph& graph) {
  NodeId in_wide_depths = 0;
  for (std::int64_t d = 0; d < graph.num_depths(); ++d) {
    const NodeId width = graph.depth_end(d) - graph.depth_begin(d);
    if (width >= kWideDepth) in_wide_depths += width;
  }
  return 2 * in_wide_depths > graph.num_nodes();
}

/// Calls visit(v) for every node of one depth; visits may run at the same time.
template <typename Visit>
void sweep_depth(NodeId begin, NodeId end, int threads, const Visit& visit) {
  if (end - begin < kWideDepth) {
    for (NodeId v = begin; v < end; ++v) visit(v);
    return;
  }
#pragma omp parallel for schedule(static) num_threads(threads)
  for (NodeId v = begin; v < end; ++v) visit(v);
}

/// Calls visit(v) for every node, after the visits of all its predecessors.
template <typename Visit>
void sweep_forward(const Graph& graph, int threads, const Visit& visit) {
  if (threads == 1) {
    for (NodeId v = 0; v < graph.num_nodes(); ++v) visit(v);
    return;
  }
  for (std::int64_t d = 0; d < graph.num_depths(); ++d) sweep_depth(graph.depth_begin(d), graph.depth_end(d), threads, visit);
}

/// Calls visit(v) for every node, after the visits of all its successors.
template <typename Visit>
void sweep_backward(const Graph& graph, int threads, const Visit& visit) {
  if (threads == 1) {
    for (NodeId v = graph.num_nodes(); v-- > 0;) visit(v);
    return;
  }
  for (std::int64_t d = graph.num_depths(); d-- > 0;) sweep_depth(graph.depth_begin(d), graph.depth_end(d), threads, visit);
}

/// Both sweeps, which must not touch each other's data.
template <typename Forward, typename Backward>
void sweep_both(const Graph& graph, const Forward& forward, const Backward& backward) {
  const int threads = sweep_threads(graph);
  if (threads == 1 || (threads > 2 && is_mostly_wide(graph))) {
    sweep_forward(graph, threads, forward);
    sweep_backward(graph, threads, backward);
    return;
  }
#pragma omp parallel sections num_threads(2)
  {
#pragma omp section
    sweep_forward(graph, 1, forward);
#pragma omp section
    sweep_backward(graph, 1, backward);
  }
}

}  // namespace pardnn
