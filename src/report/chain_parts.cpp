#include "report/chain_parts.hpp"

#include <algorithm>

#include "report/module_names.hpp"

namespace pardnn {

namespace {

constexpr int kDeepest = 6;

std::vector<ChainPart> parts_of(const EmulatedRun& run, const std::vector<ChainLink>& chain, int depth) {
  std::vector<ChainPart> parts;
  Nanoseconds before = 0;  // end of the node before
  for (const ChainLink& link : chain) {
    const NodeId v = link.node;
    const std::string name = run.has_names() ? run.name(v) : range_of(run.graph().file_id(v), run.graph().num_nodes());
    const std::string_view module = module_prefix(name, depth);
    if (parts.empty() || parts.back().device != run.device(v) || parts.back().module != module) {
      parts.push_back({std::string(module), run.device(v), before, before, 0, 0, 0, 0});
    }
    ChainPart& part = parts.back();
    part.compute += run.finish(v) - run.start(v);
    part.transfer += run.start(v) - before;
    part.nodes += 1;
    part.queued += link.waited_for == WaitedFor::device ? 1 : 0;
    part.ends = before = run.finish(v);
  }
  return parts;
}

}  // namespace

ChainSummary summarize_chain(const EmulatedRun& run, std::size_t limit) {
  std::vector<NodeId> before;
  const std::vector<ChainLink> chain = critical_chain({run.costs(), run.device(), run.schedule(), run.ready(), run.delivered()}, before);
  ChainSummary summary;
  for (summary.depth = kDeepest; summary.depth >= 1; --summary.depth) {
    summary.parts = parts_of(run, chain, summary.depth);
    if (summary.parts.size() <= limit || summary.depth == 1) break;
  }
  for (std::size_t i = 0; i < summary.parts.size(); ++i) {
    const ChainPart& part = summary.parts[i];
    summary.compute += part.compute;
    summary.transfer += part.transfer;
    summary.nodes += part.nodes;
    summary.queued += part.queued;
    summary.device_changes += i > 0 && summary.parts[i - 1].device != part.device ? 1 : 0;
  }
  return summary;
}

}  // namespace pardnn
