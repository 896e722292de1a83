#include "search/link_probes.hpp"

#include <algorithm>

namespace pardnn {
namespace {

/// Room between neighbouring priorities of a fresh order.
constexpr std::int64_t kGap = std::int64_t{1} << 31;
/// How many links after a change must start earlier before it counts as a gain.
constexpr std::size_t kWatchedLinks = 16;
constexpr std::size_t kTargets = 3;
constexpr std::size_t kSwaps = 4;
/// How many nodes before and after are looked at for swaps, by pass.
constexpr std::ptrdiff_t kNear[] = {6, 20, 60};

}  // namespace

std::vector<std::int64_t> spread_priorities(const std::vector<NodeId>& order) {
  std::vector<std::int64_t> priority(order.size());
  std::int64_t rank = 0;
  for (const NodeId v : order) priority[v] = -(rank++) * kGap;
  return priority;
}

void swap_in(const Graph& graph, std::vector<Change>& changes, std::vector<DeviceId>& device, std::vector<std::int64_t>& priority) {
  for (Change& change : changes) {
    if (change.device == kNoDevice) {
      std::swap(priority[change.node], change.priority);
      continue;
    }
    DeviceId before = change.device;
    for (const NodeId v : graph.unit_nodes(change.unit)) before = std::exchange(device[v], change.device);
    change.device = before;
  }
}

ChainBase::ChainBase(const CostModel& of_costs, Policy policy)
    : costs(of_costs), graph(of_costs.graph()), ordered(policy == Policy::priority), run(of_costs, policy),
      on_device(static_cast<std::size_t>(of_costs.num_devices())) {}

void ChainBase::look_at(Candidate& candidate, std::uint64_t pass_number) {
  pass = pass_number;
  run.rebase(candidate.device, candidate.priority);
  if (ordered) candidate.priority = spread_priorities(run.schedule().start_order);
  device = candidate.device;
  priority = candidate.priority;
  chain = critical_chain({costs, device, run.schedule(), run.ready(), run.delivered()}, before);
  run.latest_starts(device, latest);
  for (auto& nodes : on_device) nodes.clear();
  for (const NodeId v : run.schedule().start_order) {
    if (duration(v) > 0) on_device[device[v]].push_back(v);
  }
  list_transfers();
}

Nanoseconds ChainBase::leaves_port(EdgeId e) const {
  return run.delivered()[e] - costs.latency(device[source_of[e]], device[graph.target(e)]);
}

void ChainBase::list_transfers() {
  if (run.delivered().empty()) return;
  if (source_of.empty()) {
    source_of.resize(static_cast<std::size_t>(graph.num_edges()));
    for (NodeId v = 0; v < graph.num_nodes(); ++v) {
      for (EdgeId e = graph.out_begin(v); e < graph.out_end(v); ++e) source_of[e] = v;
    }
  }
  sent_from.assign(static_cast<std::size_t>(costs.num_devices()), {});
  for (EdgeId e = 0; e < graph.num_edges(); ++e) {
    const DeviceId p = device[source_of[e]];
    if (graph.bytes(e) > 0 && device[graph.target(e)] != p) sent_from[p].emplace_back(leaves_port(e), e);
  }
  for (auto& sent : sent_from) std::sort(sent.begin(), sent.end());
}

LinkProbes::LinkProbes(const ChainBase& base) : base_(base), graph_(base.graph), costs_(base.costs), probes_(base.run) {}

std::optional<LinkGain> LinkProbes::try_link(std::size_t i) {
  follow_base();
  gain_.reset();
  improve(i);
  return std::move(gain_);
}

void LinkProbes::follow_base() {
  if (pass_ == base_.pass) return;
  pass_ = base_.pass;
  device_ = base_.device;
  priority_ = base_.priority;
  latest_ = base_.latest;
}

bool LinkProbes::improve(std::size_t i) {
  const ChainLink& next = base_.chain[i + 1];
  if (next.waited_for == WaitedFor::device) {
    const NodeId blocker = next.cause;
    if (base_.duration(blocker) == 0) return false;
    if (base_.ordered && try_order(i)) return true;
    if (try_targets(blocker_move(i))) return true;
    for (const std::size_t length : segment_lengths()) {
      if (try_targets(forward_segment(i + 1, length))) return true;
    }
    if (try_swaps(i)) return true;
  } else if (next.waited_for == WaitedFor::input && device_[next.cause] != device_[next.node]) {
    for (const std::size_t length : segment_lengths()) {
      if (try_on(forward_segment(i + 1, length), device_[next.cause])) return true;
      if (try_on(backward_segment(i, length), device_[next.node])) return true;
    }
    if (!base_.run.delivered().empty() && try_port(i)) return true;
  }
  return false;
}

/// The node that kept the device of link i + 1 busy changes places with a shorter one that runs elsewhere at about the same time,
/// where what comes after that one has room for the difference. The greatest differences first.
bool LinkProbes::try_swaps(std::size_t i) {
  const NodeId blocker = base_.chain[i + 1].cause;
  const DeviceId p = device_[blocker];
  if (graph_.unit_fixed(graph_.unit(blocker)) != kNoDevice) return false;
  partners_.clear();
  for (DeviceId q = 0; q < costs_.num_devices(); ++q) {
    if (q != p) find_partners(blocker, q, kNear[base_.pass % std::size(kNear)]);
  }
  const std::size_t kept = std::min(kSwaps, partners_.size());
  std::partial_sort(partners_.begin(), partners_.begin() + static_cast<std::ptrdiff_t>(kept), partners_.end());
  for (std::size_t t = 0; t < kept; ++t) {
    const NodeId w = partners_[t].second;
    Proposal proposal;
    proposal.first_watch = i + 1;
    proposal.changes.push_back({graph_.unit(blocker), device_[w], -1, 0});
    proposal.changes.push_back({graph_.unit(w), p, -1, 0});
    if (probe(std::move(proposal))) return true;
  }
  return false;
}

/// Adds (-difference, node) for nodes of q that start near `blocker` and may change places with it.
void LinkProbes::find_partners(NodeId blocker, DeviceId q, std::ptrdiff_t near) {
  const std::vector<NodeId>& nodes = base_.on_device[q];
  const Schedule& schedule = base_.run.schedule();
  const auto at = std::lower_bound(nodes.begin(), nodes.end(), schedule.start[blocker],
                                   [&](NodeId v, Nanoseconds time) { return schedule.start[v] < time; });
  const auto first = at - std::min(near, at - nodes.begin()), last = at + std::min(near, nodes.end() - at);
  for (auto w = first; w != last; ++w) {
    const Nanoseconds difference = base_.duration(blocker) - base_.duration(*w);
    if (difference <= 0 || graph_.unit(*w) == graph_.unit(blocker) || graph_.unit_fixed(graph_.unit(*w)) != kNoDevice) continue;
    const auto next = w + 1;
    const Nanoseconds room = next == nodes.end() ? schedule.makespan - schedule.finish[*w] : latest_[*next] - schedule.start[*next];
    if (difference <= room) partners_.emplace_back(-difference, *w);
  }
}

/// The transfer into link i + 1 waited for its sender's port: consumers of the transfers before it come to the sender.
bool LinkProbes::try_port(std::size_t i) {
  const NodeId x = base_.chain[i + 1].cause, y = base_.chain[i + 1].node;
  const DeviceId p = device_[x];
  EdgeId last = -1;
  for (EdgeId e = graph_.out_begin(x); e < graph_.out_end(x); ++e) {
    if (graph_.target(e) == y && graph_.bytes(e) > 0 && (last < 0 || base_.run.delivered()[e] > base_.run.delivered()[last])) last = e;
  }
  if (last < 0) return false;
  Nanoseconds begin = base_.leaves_port(last) - costs_.transfer(last, p, device_[y]);
  const auto& sent = base_.sent_from[p];
  for (int back = 0; back < 4 && begin > base_.run.schedule().finish[x]; ++back) {
    auto at = std::lower_bound(sent.begin(), sent.end(), std::pair{begin, EdgeId{0}});
    if (at == sent.end() || at->first != begin) return false;
    const EdgeId before = at->second;
    const NodeId consumer = graph_.target(before);
    if (try_on({{graph_.unit(consumer)}, consumer, 0, i + 1}, p)) return true;
    begin -= costs_.transfer(before, p, device_[consumer]);
  }
  return false;
}

std::vector<std::size_t> LinkProbes::segment_lengths() const {
  if (base_.pass % 2 == 0) return {1, 4, 16};
  return {2, 8, 32, 128};
}

LinkProbes::Segment LinkProbes::blocker_move(std::size_t i) const {
  const NodeId blocker = base_.chain[i + 1].cause;
  return {{graph_.unit(blocker)}, blocker, base_.duration(blocker), i + 1};
}

void LinkProbes::extend(Segment& segment, NodeId v) const {
  const UnitId unit = graph_.unit(v);
  if (std::find(segment.units.begin(), segment.units.end(), unit) == segment.units.end()) segment.units.push_back(unit);
  segment.work += base_.duration(v);
}

/// Link i and the following links on its device, `length` of them with a duration.
LinkProbes::Segment LinkProbes::forward_segment(std::size_t i, std::size_t length) const {
  Segment segment{{}, base_.chain[i].node, 0, i};
  const DeviceId p = device_[base_.chain[i].node];
  std::size_t last = i;
  for (std::size_t taken = 0; last < base_.chain.size() && taken < length && device_[base_.chain[last].node] == p; ++last) {
    extend(segment, base_.chain[last].node);
    taken += base_.duration(base_.chain[last].node) > 0;
  }
  segment.first_watch = last;
  return segment;
}

/// Link i and the links before it on its device.
LinkProbes::Segment LinkProbes::backward_segment(std::size_t i, std::size_t length) const {
  Segment segment{{}, base_.chain[i].node, 0, i + 1};
  const DeviceId p = device_[base_.chain[i].node];
  std::size_t taken = 0;
  for (std::size_t at = i + 1; at-- > 0 && taken < length && device_[base_.chain[at].node] == p;) {
    extend(segment, base_.chain[at].node);
    segment.first = base_.chain[at].node;
    taken += base_.duration(base_.chain[at].node) > 0;
  }
  return segment;
}

/// When device q could have run `work` from `from` on at the earliest: the first gap that is long enough.
Nanoseconds LinkProbes::earliest_gap(DeviceId q, Nanoseconds from, Nanoseconds work) const {
  const std::vector<NodeId>& nodes = base_.on_device[q];
  const Schedule& schedule = base_.run.schedule();
  auto at = std::upper_bound(nodes.begin(), nodes.end(), from, [&](Nanoseconds time, NodeId v) { return time < schedule.finish[v]; });
  Nanoseconds begin = from;
  for (int looked = 0; at != nodes.end() && looked < 32; ++at, ++looked) {
    if (schedule.start[*at] - begin >= work) return begin;
    begin = std::max(begin, schedule.finish[*at]);
  }
  return begin;
}

/// Earliest time at which v's inputs could be on q.
Nanoseconds LinkProbes::ready_on(NodeId v, DeviceId q) const {
  Nanoseconds ready = 0;
  for (EdgeId i = graph_.in_begin(v); i < graph_.in_end(v); ++i) {
    const NodeId u = graph_.source(i);
    ready = std::max(ready, base_.run.schedule().finish[u] + costs_.cost(graph_.in_edge(i), device_[u], q));
  }
  return ready;
}

/// Tries the devices on which the segment could run first.
bool LinkProbes::try_targets(const Segment& segment) {
  if (!is_movable(segment)) return false;
  targets_.clear();
  const DeviceId p = device_[segment.first];
  for (DeviceId q = 0; q < costs_.num_devices(); ++q) {
    if (q == p) continue;
    targets_.emplace_back(earliest_gap(q, ready_on(segment.first, q), segment.work), q);
  }
  const std::size_t kept = std::min(kTargets, targets_.size());
  std::partial_sort(targets_.begin(), targets_.begin() + static_cast<std::ptrdiff_t>(kept), targets_.end());
  for (std::size_t t = 0; t < kept; ++t) {
    if (try_on(segment, targets_[t].second)) return true;
  }
  return false;
}

bool LinkProbes::is_movable(const Segment& segment) const {
  return segment.first_watch < base_.chain.size() &&
         std::all_of(segment.units.begin(), segment.units.end(), [&](UnitId u) { return graph_.unit_fixed(u) == kNoDevice; });
}

bool LinkProbes::try_on(const Segment& segment, DeviceId q) {
  if (!is_movable(segment)) return false;
  Proposal proposal;
  proposal.first_watch = segment.first_watch;
  for (const UnitId unit : segment.units) {
    if (device_[graph_.unit_nodes(unit).front()] != q) proposal.changes.push_back({unit, q, -1, 0});
  }
  return !proposal.changes.empty() && probe(std::move(proposal));
}

/// Link i + 1 goes before the node that kept its device busy.
bool LinkProbes::try_order(std::size_t i) {
  const NodeId v = base_.chain[i + 1].node, blocker = base_.chain[i + 1].cause;
  // Only a node that was there when the blocker started can go before it.
  NodeId before = blocker;
  for (int back = 0; back < 6 && before >= 0; ++back, before = base_.before[before]) {
    if (base_.run.ready()[v] > base_.run.schedule().start[before]) break;
    if (base_.duration(before) == 0) continue;
    Proposal proposal;
    proposal.first_watch = i + 1;
    proposal.changes.push_back({graph_.unit(v), kNoDevice, v, priority_[before] + kGap / 2 + static_cast<std::int64_t>(i % 1024)});
    if (probe(std::move(proposal))) return true;
  }
  return false;
}

/// From when on the changes matter. Nodes that take no time and have no inputs (weights) only matter through others;
/// what an earlier input does to its sender's port is left to the judge.
Nanoseconds LinkProbes::matters_from(const std::vector<Change>& changes) const {
  Nanoseconds from = kNever;
  for (const Change& change : changes) {
    if (change.device == kNoDevice) {
      from = std::min(from, base_.run.ready()[change.node]);
      continue;
    }
    for (const NodeId v : graph_.unit_nodes(change.unit)) {
      if (graph_.in_degree(v) == 0 && base_.duration(v) == 0) continue;
      from = std::min(from, base_.run.enter_time(v));
    }
  }
  return from == kNever ? 0 : from;
}

/// What is moved may start when it likes, as long as everything else keeps its slack.
void LinkProbes::allow_late(const std::vector<Change>& changes, bool allow) {
  if (allow) {
    kept_latest_.clear();
    for (const Change& change : changes) {
      for (const NodeId v : graph_.unit_nodes(change.unit)) kept_latest_.emplace_back(v, std::exchange(latest_[v], kNever));
    }
  } else {
    for (auto kept = kept_latest_.rbegin(); kept != kept_latest_.rend(); ++kept) latest_[kept->first] = kept->second;
  }
}

bool LinkProbes::probe(Proposal proposal) {
  const Nanoseconds from = matters_from(proposal.changes);
  watches_.clear();
  std::size_t until = 0;
  for (std::size_t j = proposal.first_watch; j < base_.chain.size() && watches_.size() < kWatchedLinks; ++j) {
    const NodeId v = base_.chain[j].node;
    const bool spaced = watches_.empty() || base_.duration(v) > 0 || j + 1 == base_.chain.size();
    if (spaced && base_.run.schedule().start[v] > from) watches_.push_back({v, base_.run.schedule().start[v]});
    until = j;
  }
  if (watches_.empty()) return false;
  swap_in(graph_, proposal.changes, device_, priority_);
  allow_late(proposal.changes, true);
  const bool gains = probes_.all_earlier(device_, priority_, from, watches_, latest_);
  swap_in(graph_, proposal.changes, device_, priority_);
  allow_late(proposal.changes, false);
  if (gains) gain_ = LinkGain{std::move(proposal), until};
  return gains;
}

}  // namespace pardnn
