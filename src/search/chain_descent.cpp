#include "search/chain_descent.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "parallel/random.hpp"
#include "search/critical_chain.hpp"
#include "search/partial_run.hpp"

namespace pardnn {
namespace {

constexpr std::uint64_t kStage = 0x6465736365; // "desce"
/// Room between neighbouring priorities of a fresh order.
constexpr std::int64_t kGap = std::int64_t{1} << 31;
/// How many links after a change must start earlier before it counts as a gain.
constexpr std::size_t kWatchedLinks = 16;
constexpr std::size_t kTargets = 3;
constexpr std::size_t kSwaps = 4;
/// How many nodes before and after are looked at for swaps, by pass.
constexpr std::ptrdiff_t kNear[] = {6, 20, 60};
/// Passes in a row without a shorter makespan after which the descent ends.
constexpr int kIdlePasses = 24;

/// One change of the base: a unit's device, or a node's priority.
struct Change {
  UnitId unit;
  DeviceId device;  ///< kNoDevice: the change is of order
  NodeId node;
  std::int64_t priority;
};

/// Changes that belong together, and the time from which they matter.
struct Proposal {
  std::vector<Change> changes;
  std::size_t first_watch = 0;  ///< first link that should start earlier
};

class ChainDescent {
 public:
  ChainDescent(Judge& judge, Candidate start, const DescentOptions& options)
      : judge_(judge), costs_(judge.costs()), graph_(costs_.graph()), options_(options),
        run_(costs_, judge.policy()), ordered_(judge.policy() == Policy::priority), best_(std::move(start)),
        on_device_(static_cast<std::size_t>(costs_.num_devices())) {}

  Candidate run() {
    if (graph_.num_nodes() == 0 || (costs_.num_devices() == 1 && !ordered_)) return std::move(best_);
    if (ordered_ && best_.priority.empty()) {
      judge_.score(best_.device, {});
      spend_run();
      renumber(judge_.schedule().start_order);
    }
    int idle_passes = 0;
    for (std::uint64_t pass = 0; idle_passes < kIdlePasses && !is_done(); ++pass) {
      look_at_run();
      collect(pass);
      const Score before = best_.score;
      if (!batch_.empty()) apply_batch();
      idle_passes = best_.score < before ? 0 : idle_passes + 1;
    }
    return std::move(best_);
  }

 private:
  bool is_done() const {
    return spent_ + run_.probed_starts() >= options_.visits ||
           (best_.score.feasible() && best_.score.makespan <= options_.good_enough) ||
           (options_.should_stop && options_.should_stop());
  }
  void spend_run() { spent_ += graph_.num_nodes() + graph_.num_edges(); }

  /// Priorities that replay `order`, evenly spaced.
  void renumber(const std::vector<NodeId>& order) {
    best_.priority.resize(static_cast<std::size_t>(graph_.num_nodes()));
    std::int64_t rank = 0;
    for (const NodeId v : order) best_.priority[v] = -(rank++) * kGap;
  }

  void look_at_run() {
    run_.rebase(best_.device, best_.priority);
    if (ordered_) {
      renumber(run_.schedule().start_order);
    }
    spend_run();
    chain_ = critical_chain({costs_, best_.device, run_.schedule(), run_.ready(), run_.delivered()}, before_);
    run_.latest_starts(best_.device, latest_);
    for (auto& nodes : on_device_) nodes.clear();
    for (const NodeId v : run_.schedule().start_order) {
      if (run_.schedule().finish[v] > run_.schedule().start[v]) on_device_[best_.device[v]].push_back(v);
    }
    device_ = best_.device;
    priority_ = best_.priority;
    list_transfers();
  }

  /// Goes along the chain once and collects changes that gain where they are made.
  void collect(std::uint64_t pass) {
    batch_.clear();
    const std::size_t links = chain_.size();
    // Start anywhere, so that a budget that ends a pass early does not always end it at the same place.
    const std::size_t offset = pass == 0 ? 0 : random_below(random_bits(options_.seed, kStage, pass), links);
    for (std::size_t step = 0; step + 1 < links && !is_done();) {
      const std::size_t i = (step + offset) % links;
      const std::size_t gained_until = i + 1 < links ? improve_link(i, pass) : i;
      step += gained_until > i ? gained_until - i : 1;
    }
  }

  /// Tries to let link i + 1 start earlier. The link after the last watched one if that succeeds, else i.
  std::size_t improve_link(std::size_t i, std::uint64_t pass) {
    const ChainLink& next = chain_[i + 1];
    if (next.waited_for == WaitedFor::device) {
      const NodeId blocker = next.cause;
      if (duration(blocker) == 0) return i;
      if (ordered_ && try_order(i)) return gain_end_;
      if (try_targets(blocker_move(i))) return gain_end_;
      for (const std::size_t length : segment_lengths(pass)) {
        if (try_targets(forward_segment(i + 1, length))) return gain_end_;
      }
      if (try_swaps(i, pass)) return gain_end_;
    } else if (next.waited_for == WaitedFor::input && device_[next.cause] != device_[next.node]) {
      for (const std::size_t length : segment_lengths(pass)) {
        if (try_on(forward_segment(i + 1, length), device_[next.cause])) return gain_end_;
        if (try_on(backward_segment(i, length), device_[next.node])) return gain_end_;
      }
      if (!run_.delivered().empty() && try_port(i)) return gain_end_;
    }
    return i;
  }

  /// The node that kept the device of link i + 1 busy changes places with a shorter one that runs elsewhere at about the same time,
  /// where what comes after that one has room for the difference. The greatest differences first.
  bool try_swaps(std::size_t i, std::uint64_t pass) {
    const NodeId blocker = chain_[i + 1].cause;
    const DeviceId p = device_[blocker];
    if (graph_.unit_fixed(graph_.unit(blocker)) != kNoDevice) return false;
    partners_.clear();
    for (DeviceId q = 0; q < costs_.num_devices(); ++q) {
      if (q != p) find_partners(blocker, q, kNear[pass % std::size(kNear)]);
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
  void find_partners(NodeId blocker, DeviceId q, std::ptrdiff_t near) {
    const std::vector<NodeId>& nodes = on_device_[q];
    const Schedule& schedule = run_.schedule();
    const auto at = std::lower_bound(nodes.begin(), nodes.end(), schedule.start[blocker],
                                     [&](NodeId v, Nanoseconds time) { return schedule.start[v] < time; });
    const auto first = at - std::min(near, at - nodes.begin()), last = at + std::min(near, nodes.end() - at);
    for (auto w = first; w != last; ++w) {
      const Nanoseconds difference = duration(blocker) - duration(*w);
      if (difference <= 0 || graph_.unit(*w) == graph_.unit(blocker) || graph_.unit_fixed(graph_.unit(*w)) != kNoDevice) continue;
      const auto next = w + 1;
      const Nanoseconds room = next == nodes.end() ? schedule.makespan - schedule.finish[*w] : latest_[*next] - schedule.start[*next];
      if (difference <= room) partners_.emplace_back(-difference, *w);
    }
  }

  /// The transfer into link i + 1 waited for its sender's port: consumers of the transfers before it come to the sender.
  bool try_port(std::size_t i) {
    const NodeId x = chain_[i + 1].cause, y = chain_[i + 1].node;
    const DeviceId p = device_[x];
    EdgeId last = -1;
    for (EdgeId e = graph_.out_begin(x); e < graph_.out_end(x); ++e) {
      if (graph_.target(e) == y && graph_.bytes(e) > 0 && (last < 0 || run_.delivered()[e] > run_.delivered()[last])) last = e;
    }
    if (last < 0) return false;
    Nanoseconds begin = leaves_port(last) - costs_.transfer(last, p, device_[y]);
    const auto& sent = sent_from_[p];
    for (int back = 0; back < 4 && begin > run_.schedule().finish[x]; ++back) {
      auto at = std::lower_bound(sent.begin(), sent.end(), std::pair{begin, EdgeId{0}});
      if (at == sent.end() || at->first != begin) return false;
      const EdgeId before = at->second;
      const NodeId consumer = graph_.target(before);
      if (try_on({{graph_.unit(consumer)}, consumer, 0, i + 1}, p)) return true;
      begin -= costs_.transfer(before, p, device_[consumer]);
    }
    return false;
  }

  /// When the transfer of cut edge e has left its sender's port.
  Nanoseconds leaves_port(EdgeId e) const {
    const NodeId v = source_of_[e];
    return run_.delivered()[e] - costs_.latency(device_[v], device_[graph_.target(e)]);
  }

  /// Transfers of each device by the time they leave its port.
  void list_transfers() {
    if (run_.delivered().empty()) return;
    if (source_of_.empty()) {
      source_of_.resize(static_cast<std::size_t>(graph_.num_edges()));
      for (NodeId v = 0; v < graph_.num_nodes(); ++v) {
        for (EdgeId e = graph_.out_begin(v); e < graph_.out_end(v); ++e) source_of_[e] = v;
      }
    }
    sent_from_.assign(static_cast<std::size_t>(costs_.num_devices()), {});
    for (EdgeId e = 0; e < graph_.num_edges(); ++e) {
      const DeviceId p = device_[source_of_[e]];
      if (graph_.bytes(e) > 0 && device_[graph_.target(e)] != p) sent_from_[p].emplace_back(leaves_port(e), e);
    }
    for (auto& sent : sent_from_) std::sort(sent.begin(), sent.end());
  }

  std::vector<std::size_t> segment_lengths(std::uint64_t pass) const {
    if (pass % 2 == 0) return {1, 4, 16};
    return {2, 8, 32, 128};
  }

  Nanoseconds duration(NodeId v) const { return run_.schedule().finish[v] - run_.schedule().start[v]; }

  /// Units to move and where the effect should show.
  struct Segment {
    std::vector<UnitId> units;
    NodeId first = 0;             ///< whose ready time and work decide the target
    Nanoseconds work = 0;
    std::size_t first_watch = 0;
  };

  Segment blocker_move(std::size_t i) const {
    const NodeId blocker = chain_[i + 1].cause;
    return {{graph_.unit(blocker)}, blocker, duration(blocker), i + 1};
  }

  void extend(Segment& segment, NodeId v) const {
    const UnitId unit = graph_.unit(v);
    if (std::find(segment.units.begin(), segment.units.end(), unit) == segment.units.end()) segment.units.push_back(unit);
    segment.work += duration(v);
  }

  /// Link i and the following links on its device, `length` of them with a duration.
  Segment forward_segment(std::size_t i, std::size_t length) const {
    Segment segment{{}, chain_[i].node, 0, i};
    const DeviceId p = device_[chain_[i].node];
    std::size_t last = i;
    for (std::size_t taken = 0; last < chain_.size() && taken < length && device_[chain_[last].node] == p; ++last) {
      extend(segment, chain_[last].node);
      taken += duration(chain_[last].node) > 0;
    }
    segment.first_watch = last;
    return segment;
  }

  /// Link i and the links before it on its device.
  Segment backward_segment(std::size_t i, std::size_t length) const {
    Segment segment{{}, chain_[i].node, 0, i + 1};
    const DeviceId p = device_[chain_[i].node];
    std::size_t taken = 0;
    for (std::size_t at = i + 1; at-- > 0 && taken < length && device_[chain_[at].node] == p;) {
      extend(segment, chain_[at].node);
      segment.first = chain_[at].node;
      taken += duration(chain_[at].node) > 0;
    }
    return segment;
  }

  /// When device q could have run `work` from `from` on at the earliest: the first gap that is long enough.
  Nanoseconds earliest_gap(DeviceId q, Nanoseconds from, Nanoseconds work) const {
    const std::vector<NodeId>& nodes = on_device_[q];
    const Schedule& schedule = run_.schedule();
    auto at = std::upper_bound(nodes.begin(), nodes.end(), from, [&](Nanoseconds time, NodeId v) { return time < schedule.finish[v]; });
    Nanoseconds begin = from;
    for (int looked = 0; at != nodes.end() && looked < 32; ++at, ++looked) {
      if (schedule.start[*at] - begin >= work) return begin;
      begin = std::max(begin, schedule.finish[*at]);
    }
    return begin;
  }

  /// Earliest time at which v's inputs could be on q.
  Nanoseconds ready_on(NodeId v, DeviceId q) const {
    Nanoseconds ready = 0;
    for (EdgeId i = graph_.in_begin(v); i < graph_.in_end(v); ++i) {
      const NodeId u = graph_.source(i);
      ready = std::max(ready, run_.schedule().finish[u] + costs_.cost(graph_.in_edge(i), device_[u], q));
    }
    return ready;
  }

  /// Tries the devices on which the segment could run first.
  bool try_targets(const Segment& segment) {
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

  bool is_movable(const Segment& segment) const {
    return segment.first_watch < chain_.size() &&
           std::all_of(segment.units.begin(), segment.units.end(), [&](UnitId u) { return graph_.unit_fixed(u) == kNoDevice; });
  }

  bool try_on(const Segment& segment, DeviceId q) {
    if (!is_movable(segment)) return false;
    Proposal proposal;
    proposal.first_watch = segment.first_watch;
    for (const UnitId unit : segment.units) {
      if (device_[graph_.unit_nodes(unit).front()] != q) proposal.changes.push_back({unit, q, -1, 0});
    }
    return !proposal.changes.empty() && probe(std::move(proposal));
  }

  /// Link i + 1 goes before the node that kept its device busy.
  bool try_order(std::size_t i) {
    const NodeId v = chain_[i + 1].node, blocker = chain_[i + 1].cause;
    // Only a node that was there when the blocker started can go before it.
    NodeId before = blocker;
    for (int back = 0; back < 6 && before >= 0; ++back, before = before_[before]) {
      if (run_.ready()[v] > run_.schedule().start[before]) break;
      if (duration(before) == 0) continue;
      Proposal proposal;
      proposal.first_watch = i + 1;
      proposal.changes.push_back({graph_.unit(v), kNoDevice, v, priority_[before] + kGap / 2 + static_cast<std::int64_t>(batch_.size() % 1024)});
      if (probe(std::move(proposal))) return true;
    }
    return false;
  }

  void swap_in(std::vector<Change>& changes, std::vector<DeviceId>& device, std::vector<std::int64_t>& priority) const {
    for (Change& change : changes) {
      if (change.device == kNoDevice) {
        std::swap(priority[change.node], change.priority);
        continue;
      }
      DeviceId before = change.device;
      for (const NodeId v : graph_.unit_nodes(change.unit)) before = std::exchange(device[v], change.device);
      change.device = before;
    }
  }

  /// From when on the changes matter. Nodes that take no time and have no inputs (weights) only matter through others;
  /// what an earlier input does to its sender's port is left to the judge.
  Nanoseconds matters_from(const std::vector<Change>& changes) const {
    Nanoseconds from = kNever;
    for (const Change& change : changes) {
      if (change.device == kNoDevice) {
        from = std::min(from, run_.ready()[change.node]);
        continue;
      }
      for (const NodeId v : graph_.unit_nodes(change.unit)) {
        if (graph_.in_degree(v) == 0 && duration(v) == 0) continue;
        from = std::min(from, run_.enter_time(v));
      }
    }
    return from == kNever ? 0 : from;
  }

  /// What is moved may start when it likes, as long as everything else keeps its slack.
  void allow_late(const std::vector<Change>& changes, bool allow) {
    if (allow) {
      kept_latest_.clear();
      for (const Change& change : changes) {
        for (const NodeId v : graph_.unit_nodes(change.unit)) kept_latest_.emplace_back(v, std::exchange(latest_[v], kNever));
      }
    } else {
      for (auto kept = kept_latest_.rbegin(); kept != kept_latest_.rend(); ++kept) latest_[kept->first] = kept->second;
    }
  }

  bool probe(Proposal proposal) {
    const Nanoseconds from = matters_from(proposal.changes);
    watches_.clear();
    for (std::size_t j = proposal.first_watch; j < chain_.size() && watches_.size() < kWatchedLinks; ++j) {
      const NodeId v = chain_[j].node;
      const bool spaced = watches_.empty() || duration(v) > 0 || j + 1 == chain_.size();
      if (spaced && run_.schedule().start[v] > from) watches_.push_back({v, run_.schedule().start[v]});
      gain_end_ = j;
    }
    if (watches_.empty()) return false;
    swap_in(proposal.changes, device_, priority_);
    allow_late(proposal.changes, true);
    const bool gains = run_.all_earlier(device_, priority_, from, watches_, latest_);
    swap_in(proposal.changes, device_, priority_);
    allow_late(proposal.changes, false);
    if (gains) batch_.push_back(std::move(proposal));
    return gains;
  }

  /// Applies all that was collected, or the half, the quarter, ... that helps.
  bool apply_batch() {
    for (std::size_t count = batch_.size(); count > 0; count /= 2) {
      // Take them spread over the whole chain, not only its beginning.
      std::vector<std::size_t> chosen;
      for (std::size_t i = 0; i < count; ++i) chosen.push_back(i * batch_.size() / count);
      if (apply_chosen(chosen)) return true;
      if (is_done()) return false;
    }
    return false;
  }

  bool apply_chosen(const std::vector<std::size_t>& chosen) {
    for (const std::size_t i : chosen) swap_in(batch_[i].changes, device_, priority_);
    Score score;
    // An equal makespan is welcome: one of several chains that cause it has become shorter.
    const bool accepted = judge_.score_within(device_, ordered_ ? std::span<const std::int64_t>(priority_) : std::span<const std::int64_t>(), Score{best_.score.overflow, best_.score.makespan, kNever}, score);
    spend_run();
    if (accepted) {
      best_.device = device_;
      best_.priority = priority_;
      best_.score = score;
      return true;
    }
    for (auto i = chosen.rbegin(); i != chosen.rend(); ++i) swap_in(batch_[*i].changes, device_, priority_);
    return false;
  }

  Judge& judge_;
  const CostModel& costs_;
  const Graph& graph_;
  const DescentOptions& options_;
  PartialRun run_;
  bool ordered_;
  Candidate best_;
  std::int64_t spent_ = 0;

  // Of the base run.
  std::vector<ChainLink> chain_;
  std::vector<NodeId> before_;
  std::vector<Nanoseconds> latest_;             ///< start of each node that keeps the makespan
  std::vector<std::pair<NodeId, Nanoseconds>> kept_latest_;
  std::vector<std::vector<NodeId>> on_device_;  ///< nodes with a duration, by start

  std::vector<NodeId> source_of_;               ///< of each edge; under ports
  std::vector<std::vector<std::pair<Nanoseconds, EdgeId>>> sent_from_;

  // The base with the changes under trial.
  std::vector<DeviceId> device_;
  std::vector<std::int64_t> priority_;
  std::vector<Proposal> batch_;
  std::vector<Watch> watches_;
  std::vector<std::pair<Nanoseconds, DeviceId>> targets_;
  std::vector<std::pair<Nanoseconds, NodeId>> partners_;  ///< for swaps
  std::size_t gain_end_ = 0;
};

}  // namespace

Candidate descend_chain(Judge& judge, Candidate start, const DescentOptions& options) {
  return ChainDescent(judge, std::move(start), options).run();
}

}  // namespace pardnn
