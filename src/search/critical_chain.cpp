#include "search/critical_chain.hpp"

#include <algorithm>

namespace pardnn {
namespace {

constexpr NodeId kNone = -1;

void find_predecessors_on_devices(const RunView& run, std::vector<NodeId>& before) {
  before.assign(run.device.size(), kNone);
  std::vector<NodeId> last(static_cast<std::size_t>(run.costs.num_devices()), kNone);
  for (const NodeId v : run.schedule.start_order) {
    before[v] = last[run.device[v]];
    last[run.device[v]] = v;
  }
}

NodeId last_to_finish(const Schedule& schedule) {
  NodeId last = kNone;
  for (NodeId v = 0; v < static_cast<NodeId>(schedule.finish.size()); ++v) {
    if (last == kNone || schedule.finish[v] > schedule.finish[last]) last = v;
  }
  return last;
}

/// The predecessor of v whose output arrived last.
NodeId latest_input(const RunView& run, NodeId v) {
  const Graph& graph = run.costs.graph();
  const Schedule& schedule = run.schedule;
  NodeId latest = kNone;
  Nanoseconds at = -1;
  for (EdgeId i = graph.in_begin(v); i < graph.in_end(v); ++i) {
    const NodeId u = graph.source(i);
    const EdgeId e = graph.in_edge(i);
    const Nanoseconds arrives = run.delivered.empty()
                                    ? schedule.finish[u] + run.costs.cost(e, run.device[u], run.device[v])
                                    : run.delivered[e];
    if (arrives > at || (arrives == at && schedule.finish[u] > schedule.finish[latest])) {
      latest = u;
      at = arrives;
    }
  }
  return latest;
}

}  // namespace

std::vector<ChainLink> critical_chain(const RunView& run, std::vector<NodeId>& before) {
  find_predecessors_on_devices(run, before);
  const Schedule& schedule = run.schedule;
  std::vector<ChainLink> chain;
  for (NodeId v = last_to_finish(schedule); v != kNone;) {
    ChainLink link{v, WaitedFor::nothing, kNone};
    if (run.ready[v] < schedule.start[v] && before[v] != kNone) {
      link = {v, WaitedFor::device, before[v]};
    } else if (const NodeId input = latest_input(run, v); input != kNone) {
      link = {v, WaitedFor::input, input};
    }
    chain.push_back(link);
    v = link.cause;
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

}  // namespace pardnn
