#include "levels/shrinking_levels.hpp"

#include <algorithm>
#include <utility>

#include "levels/level_sweep.hpp"

namespace pardnn {

/// Level of a removed node while a sweep runs: no edge cost lifts it above 0, so its edges drop out of every maximum.
static constexpr Nanoseconds kAbsent = -kSumLimit;

ShrinkingLevels::ShrinkingLevels(const CostModel& costs, std::vector<Nanoseconds> weights)
    : graph_(&costs.graph()), weights_(std::move(weights)) {
  const EdgeId edges = graph_->num_edges();
  out_costs_.resize(edges);
  in_costs_.resize(edges);
  for (EdgeId e = 0; e < edges; ++e) out_costs_[e] = costs.mean_cost(e);
  for (EdgeId i = 0; i < edges; ++i) in_costs_[i] = out_costs_[graph_->in_edge(i)];
  finish_.resize(graph_->num_nodes());
  levels_.top.resize(graph_->num_nodes());
  levels_.bottom.resize(graph_->num_nodes());
}

const WeightedLevels& ShrinkingLevels::recompute(std::span<const char> removed) {
  const Graph& graph = *graph_;
  const std::span<const Nanoseconds> weight = weights_.empty() ? graph.comp() : std::span<const Nanoseconds>(weights_);
  const auto forward = [&](NodeId v) {
    Nanoseconds latest = 0;
    for (EdgeId i = graph.in_begin(v); i < graph.in_end(v); ++i) latest = std::max(latest, finish_[graph.source(i)] + in_costs_[i]);
    levels_.top[v] = removed[v] != 0 ? 0 : latest;
    finish_[v] = removed[v] != 0 ? kAbsent : latest + weight[v];
  };
  const auto backward = [&](NodeId v) {
    Nanoseconds heaviest = 0;
    for (EdgeId e = graph.out_begin(v); e < graph.out_end(v); ++e) {
      heaviest = std::max(heaviest, levels_.bottom[graph.target(e)] + out_costs_[e]);
    }
    levels_.bottom[v] = removed[v] != 0 ? kAbsent : heaviest + weight[v];
  };
  sweep_both(graph, forward, backward);
  for (NodeId v = 0; v < graph.num_nodes(); ++v) levels_.bottom[v] = std::max<Nanoseconds>(levels_.bottom[v], 0);
  return levels_;
}

}  // namespace pardnn
