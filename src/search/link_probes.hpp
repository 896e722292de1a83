/// Probes of changes at single links of the critical chain.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "search/candidate.hpp"
#include "search/critical_chain.hpp"
#include "search/partial_run.hpp"

namespace pardnn {

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

/// The run that a descent improves, and what probes look up in it.
class ChainBase {
 public:
  ChainBase(const CostModel& costs, Policy policy);

  /// Makes the run of `candidate` the base of pass number `pass`. Under Policy::priority its priorities are spread evenly: the run stays the same. O((V + E) log V).
  void look_at(Candidate& candidate, std::uint64_t pass);

  const CostModel& costs;
  const Graph& graph;
  bool ordered;                                 ///< Policy::priority
  PartialRun run;
  std::uint64_t pass = 0;
  std::vector<DeviceId> device;
  std::vector<std::int64_t> priority;
  std::vector<ChainLink> chain;
  std::vector<NodeId> before;
  std::vector<Nanoseconds> latest;              ///< start of each node that keeps the makespan
  std::vector<std::vector<NodeId>> on_device;   ///< nodes with a duration, by start
  std::vector<NodeId> source_of;                ///< of each edge; under ports
  std::vector<std::vector<std::pair<Nanoseconds, EdgeId>>> sent_from;  ///< transfers by the time they leave their sender's port; under ports

  Nanoseconds duration(NodeId v) const { return run.schedule().finish[v] - run.schedule().start[v]; }
  /// When the transfer of cut edge e has left its sender's port.
  Nanoseconds leaves_port(EdgeId e) const;

 private:
  void list_transfers();
};

/// Priorities that replay `order`, with room between neighbours. V.
std::vector<std::int64_t> spread_priorities(const std::vector<NodeId>& order);

/// What a probe found to gain.
struct LinkGain {
  Proposal proposal;
  std::size_t until;  ///< the last link that it was watched on
};

/// Exchanges what `changes` hold with what `device` and `priority` hold; twice restores, in the opposite order.
void swap_in(const Graph& graph, std::vector<Change>& changes, std::vector<DeviceId>& device, std::vector<std::int64_t>& priority);

/// Tries changes of the base, one link at a time. One per thread; what it finds depends on base and link alone.
class LinkProbes {
 public:
  /// `base` must outlive it.
  explicit LinkProbes(const ChainBase& base);

  /// Tries to let link i + 1 start earlier: the first change that does, if any.
  std::optional<LinkGain> try_link(std::size_t i);

  /// Nodes started in probes so far: the unit in which their cost is counted.
  std::int64_t started() const { return probes_.started(); }

 private:
  /// Units to move and where the effect should show.
  struct Segment {
    std::vector<UnitId> units;
    NodeId first = 0;             ///< whose ready time and work decide the target
    Nanoseconds work = 0;
    std::size_t first_watch = 0;
  };

  void follow_base();
  bool improve(std::size_t i);
  bool try_swaps(std::size_t i);
  void find_partners(NodeId blocker, DeviceId q, std::ptrdiff_t near);
  bool try_port(std::size_t i);
  bool try_targets(const Segment& segment);
  bool try_on(const Segment& segment, DeviceId q);
  bool try_order(std::size_t i);
  bool probe(Proposal proposal);

  std::vector<std::size_t> segment_lengths() const;
  Segment blocker_move(std::size_t i) const;
  void extend(Segment& segment, NodeId v) const;
  Segment forward_segment(std::size_t i, std::size_t length) const;
  Segment backward_segment(std::size_t i, std::size_t length) const;
  Nanoseconds earliest_gap(DeviceId q, Nanoseconds from, Nanoseconds work) const;
  Nanoseconds ready_on(NodeId v, DeviceId q) const;
  bool is_movable(const Segment& segment) const;
  Nanoseconds matters_from(const std::vector<Change>& changes) const;
  void allow_late(const std::vector<Change>& changes, bool allow);

  const ChainBase& base_;
  const Graph& graph_;
  const CostModel& costs_;
  Probes probes_;
  std::optional<LinkGain> gain_;

  // The base with the changes under trial, of pass `pass_`.
  std::uint64_t pass_ = UINT64_MAX;
  std::vector<DeviceId> device_;
  std::vector<std::int64_t> priority_;
  std::vector<Nanoseconds> latest_;
  std::vector<std::pair<NodeId, Nanoseconds>> kept_latest_;
  std::vector<Watch> watches_;
  std::vector<std::pair<Nanoseconds, DeviceId>> targets_;
  std::vector<std::pair<Nanoseconds, NodeId>> partners_;  ///< for swaps
};

}  // namespace pardnn
