/// One placement emulated and tracked, with everything that traces and reports read from it.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "emulation/emulator.hpp"
#include "memory/memory_profile.hpp"
#include "pardnn/graph.hpp"
#include "pardnn/machine.hpp"
#include "pardnn/placement.hpp"

namespace pardnn {

/// Keeps references: graph, machine, placement and names must outlive it.
class EmulatedRun {
 public:
  /// `names` in file order, or empty. O((V + E) log V).
  EmulatedRun(const Graph& graph, const PackedNames& names, const Machine& machine, const Placement& placement, Policy policy);

  const Graph& graph() const { return costs_.graph(); }
  const Machine& machine() const { return costs_.machine(); }
  const CostModel& costs() const { return costs_; }
  std::span<const DeviceId> device() const { return placement_.device; }
  DeviceId device(NodeId v) const { return placement_.device[static_cast<std::size_t>(v)]; }
  Policy policy() const { return policy_; }
  const Schedule& schedule() const { return emulator_.schedule(); }
  Nanoseconds start(NodeId v) const { return schedule().start[static_cast<std::size_t>(v)]; }
  Nanoseconds finish(NodeId v) const { return schedule().finish[static_cast<std::size_t>(v)]; }
  std::span<const Nanoseconds> ready() const { return emulator_.ready(); }
  /// Empty under free links.
  std::span<const Nanoseconds> delivered() const { return emulator_.delivered(); }
  const MemoryPeaks& peaks() const { return *peaks_; }
  MemoryTracker& memory() { return memory_; }
  const MemoryTracker& memory() const { return memory_; }

  bool has_names() const { return !names_.empty(); }
  /// The node's name as its file has it, or its index in the file: not escaped.
  std::string name(NodeId v) const;

 private:
  CostModel costs_;
  const PackedNames& names_;
  const Placement& placement_;
  Policy policy_;
  Emulator emulator_;
  MemoryTracker memory_;
  const MemoryPeaks* peaks_;
};

/// What one device sends another for one output of a node.
struct Transfer {
  NodeId node;
  DeviceId from, to;
  Bytes bytes;  ///< 0: nothing is sent, only an order is kept
  Nanoseconds begins, ends;  ///< under ports while it holds the port; under free links from the end of the node to the delivery
  Nanoseconds arrives;
  /// The edges that it delivers.
  std::span<const EdgeId> edges;
};

/// Calls visit(Transfer) for what `node` sends, in the order in which it leaves. Keep `sent` to spare allocations. O(degree log degree).
template <typename Visit>
void visit_transfers(const EmulatedRun& run, NodeId node, std::vector<EdgeId>& sent, Visit&& visit) {
  const Graph& graph = run.graph();
  const DeviceId from = run.device(node);
  sent.clear();
  for (EdgeId e = graph.out_begin(node); e < graph.out_end(node); ++e) {
    if (run.device(graph.target(e)) != from) sent.push_back(e);
  }
  const auto key = [&](EdgeId e) { return std::pair{run.device(graph.target(e)), graph.output(e)}; };
  std::sort(sent.begin(), sent.end(), [&](EdgeId a, EdgeId b) { return key(a) != key(b) ? key(a) < key(b) : a < b; });
  for (std::size_t first = 0, last = 0; first < sent.size(); first = last) {
    EdgeId largest = sent[first];
    for (last = first; last < sent.size() && key(sent[last]) == key(sent[first]); ++last) {
      if (graph.bytes(sent[last]) > graph.bytes(largest)) largest = sent[last];
    }
    const DeviceId to = key(largest).first;
    Transfer transfer{node, from, to, graph.bytes(largest), run.finish(node), 0, 0, std::span(sent).subspan(first, last - first)};
    const Nanoseconds wire = run.costs().transfer(largest, from, to), latency = run.costs().latency(from, to);
    if (run.delivered().empty()) {
      transfer.ends = transfer.arrives = transfer.begins + wire + latency;
    } else {
      transfer.arrives = run.delivered()[static_cast<std::size_t>(largest)];
      transfer.ends = transfer.arrives - latency;
      transfer.begins = transfer.ends - wire;
    }
    visit(transfer);
  }
}

}  // namespace pardnn
