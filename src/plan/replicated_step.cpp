#include "plan/replicated_step.hpp"

#include <algorithm>
#include <utility>

#include "costs/cost_model.hpp"
#include "emulation/emulator.hpp"
#include "levels/weighted_levels.hpp"
#include "memory/memory_profile.hpp"

namespace pardnn {

namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// The larger graph and machine of the definition, and how to find one's way in it. File ids of the larger graph: node v of copy c is
/// c * V + file_id(v), bucket b is C * V + b. Devices: d of copy c is c * K + d, the reducer of d is C * K + d.
struct Replicas {
  std::int64_t nodes = 0, copies = 0;
  DeviceId devices = 0;
  std::vector<Bucket> buckets;
  std::vector<std::vector<NodeId>> sent;  ///< of each bucket: the gradient that stands behind each of its outputs
  Graph graph;
  Machine machine;
  Placement placement;

  DeviceId num_placed() const { return static_cast<DeviceId>(copies * devices); }
};

/// One edge of the larger graph, without its source.
struct Edge {
  std::int64_t target, output;
  Bytes bytes;
};

/// Fills the rows of the larger graph one by one.
class Rows {
 public:
  explicit Rows(GraphData& data) : data_(data) {}
  void add(const Edge& edge) {
    data_.indices.push_back(edge.target);
    data_.bytes.push_back(edge.bytes);
    data_.output.push_back(edge.output);
  }
  void end_row() { data_.indptr.push_back(static_cast<std::int64_t>(data_.indices.size())); }

 private:
  GraphData& data_;
};

class ReplicaBuilder {
 public:
  ReplicaBuilder(const Graph& graph, const Machine& machine, std::span<const Slice> slices, const Placement& placement, std::vector<Bucket> buckets)
      : graph_(graph), machine_(machine), slices_(slices), placement_(placement) {
    const std::vector<int> kinds = slice_kinds(machine, slices);
    for (std::size_t r = 0; r < kinds.size(); ++r) {
      if (kinds[r] == static_cast<int>(r)) firsts_.push_back(r);
    }
    made_.nodes = graph.num_nodes();
    made_.copies = static_cast<std::int64_t>(firsts_.size());
    made_.devices = static_cast<DeviceId>(slices.front().size());
    made_.buckets = std::move(buckets);
    bucket_of_.assign(at(made_.nodes), -1);
    for (std::size_t b = 0; b < made_.buckets.size(); ++b) {
      for (const NodeId g : made_.buckets[b].gradients) bucket_of_[at(g)] = static_cast<std::int64_t>(b);
    }
  }

  Replicas build() {
    GraphData data = nodes();
    add_edges(data);
    made_.graph = Graph(std::move(data));
    made_.machine = machine();
    place();
    return std::move(made_);
  }

 private:
  GraphData nodes() const {
    GraphData data;
    std::vector<NodeId> by_file_id(at(made_.nodes));
    for (NodeId v = 0; v < made_.nodes; ++v) by_file_id[at(graph_.file_id(v))] = v;
    for (std::int64_t c = 0; c < made_.copies; ++c) {
      for (const NodeId v : by_file_id) {
        data.comp.push_back(graph_.comp(v));
        data.mem.push_back(graph_.mem(v));
        data.temp.push_back(graph_.temp(v));
        data.kind.push_back(static_cast<std::int64_t>(graph_.kind(v)));
        data.colocation.push_back(graph_.group(v) < 0 ? -1 : c * graph_.num_groups() + graph_.group(v));
        data.alias.push_back(graph_.root(v) == v ? -1 : id(c, graph_.root(v)));
      }
    }
    for (const Bucket& bucket : made_.buckets) {
      data.comp.push_back(ring_all_reduce_time(machine_, slices_, bucket.device, bucket.bytes));
      data.mem.push_back(0);
      data.temp.push_back(bucket.bytes);
      data.kind.push_back(0);
      data.colocation.push_back(-1);
      data.alias.push_back(-1);
    }
    return data;
  }

  std::int64_t id(std::int64_t copy, NodeId v) const { return copy * made_.nodes + graph_.file_id(v); }

  void add_edges(GraphData& data) {
    Rows rows(data);
    std::vector<NodeId> by_file_id(at(made_.nodes));
    for (NodeId v = 0; v < made_.nodes; ++v) by_file_id[at(graph_.file_id(v))] = v;
    for (std::int64_t c = 0; c < made_.copies; ++c) {
      for (const NodeId v : by_file_id) add_row(rows, c, v);
    }
    made_.sent.resize(made_.buckets.size());
    for (std::size_t b = 0; b < made_.buckets.size(); ++b) add_bucket_row(rows, b);
  }

  bool is_near(NodeId u, NodeId v) const { return placement_.device[at(u)] == placement_.device[at(v)]; }

  void add_row(Rows& rows, std::int64_t c, NodeId u) const {
    const std::int64_t bucket = bucket_of_[at(u)];
    for (EdgeId e = graph_.out_begin(u); e < graph_.out_end(u); ++e) {
      const NodeId v = graph_.target(e);
      if (bucket < 0 || is_near(u, v)) rows.add({id(c, v), graph_.output(e), graph_.bytes(e)});
    }
    if (bucket >= 0) rows.add({made_.copies * made_.nodes + bucket, 0, 0});
    rows.end_row();
  }

  /// Edges to other devices keep bytes, one output for each gradient and each of its outputs; the others only order.
  void add_bucket_row(Rows& rows, std::size_t b) {
    std::vector<NodeId>& sent = made_.sent[b];
    for (const NodeId g : made_.buckets[b].gradients) {
      const std::size_t first = sent.size();
      std::vector<std::int32_t> outputs;  // of g that leave the device, in the order in which they are met
      for (EdgeId e = graph_.out_begin(g); e < graph_.out_end(g); ++e) {
        const NodeId v = graph_.target(e);
        std::int64_t output = 0;
        if (!is_near(g, v) && graph_.bytes(e) > 0) {
          const auto known = std::find(outputs.begin(), outputs.end(), graph_.output(e));
          output = static_cast<std::int64_t>(first) + (known - outputs.begin());
          if (known == outputs.end()) {
            outputs.push_back(graph_.output(e));
            sent.push_back(g);
          }
        }
        for (std::int64_t c = 0; c < made_.copies; ++c) rows.add({id(c, v), output, is_near(g, v) ? 0 : graph_.bytes(e)});
      }
    }
    rows.end_row();
  }

  /// Links that nothing uses are given the bandwidth of one that is in use: every other kind would cost a table of transfer times.
  Machine machine() const {
    const DeviceId k = made_.devices, all = made_.num_placed() + k;
    Machine machine;
    machine.links = machine_.links;
    machine.headroom = machine_.headroom;
    const BytesPerSecond idle = k > 1 ? machine_.bandwidth[machine_.link(slices_[0][0], slices_[0][1])] : kSumLimit;
    machine.devices.resize(at(all));
    machine.latency.assign(at(all) * at(all), 0);
    machine.bandwidth.assign(at(all) * at(all), idle);
    for (std::size_t c = 0; c < firsts_.size(); ++c) {
      const Slice& slice = slices_[firsts_[c]];
      const DeviceId base = static_cast<DeviceId>(c) * k;
      for (DeviceId p = 0; p < k; ++p) {
        machine.devices[at(base + p)] = machine_.devices[at(slice[at(p)])];
        for (DeviceId q = 0; q < k; ++q) {
          if (p == q) continue;
          const std::size_t link = machine_.link(slice[at(p)], slice[at(q)]);
          for (const DeviceId from : {base + p, made_.num_placed() + p}) {
            machine.latency[machine.link(from, base + q)] = machine_.latency[link];
            machine.bandwidth[machine.link(from, base + q)] = machine_.bandwidth[link];
          }
        }
      }
    }
    return machine;
  }

  void place() {
    std::vector<DeviceId> device(at(made_.copies * made_.nodes));
    std::vector<std::int64_t> priority;
    if (!placement_.priority.empty()) priority.resize(device.size());
    for (std::int64_t c = 0; c < made_.copies; ++c) {
      for (NodeId v = 0; v < made_.nodes; ++v) {
        device[at(id(c, v))] = static_cast<DeviceId>(c) * made_.devices + placement_.device[at(v)];
        if (!priority.empty()) priority[at(id(c, v))] = placement_.priority[at(v)];
      }
    }
    for (std::size_t b = 0; b < made_.buckets.size(); ++b) {
      device.push_back(made_.num_placed() + made_.buckets[b].device);
      if (!priority.empty()) priority.push_back(-static_cast<std::int64_t>(b));
    }
    made_.placement.device = made_.graph.to_internal(std::span<const DeviceId>(device));
    if (!priority.empty()) made_.placement.priority = made_.graph.to_internal(std::span<const std::int64_t>(priority));
  }

  const Graph& graph_;
  const Machine& machine_;
  std::span<const Slice> slices_;
  const Placement& placement_;
  std::vector<std::size_t> firsts_;  // a slice of each kind
  std::vector<std::int64_t> bucket_of_;
  Replicas made_;
};

/// The emulated run of the larger graph, with what is read from it.
class ReplicaRun {
 public:
  explicit ReplicaRun(Replicas& replicas, Policy policy)
      : replicas_(replicas), costs_(replicas.graph, replicas.machine), emulator_(costs_), internal_(at(replicas.graph.num_nodes())) {
    emulator_.run(replicas.placement.device, policy, replicas.placement.priority);
    for (NodeId v = 0; v < replicas.graph.num_nodes(); ++v) internal_[at(replicas.graph.file_id(v))] = v;
  }

  const Schedule& schedule() const { return emulator_.schedule(); }

  /// The run of the first copy, in the numbering of `graph`.
  Schedule first_copy(const Graph& graph) const {
    Schedule part;
    std::vector<NodeId> by_file_id(at(graph.num_nodes()));
    part.start.resize(by_file_id.size());
    part.finish.resize(by_file_id.size());
    for (NodeId v = 0; v < graph.num_nodes(); ++v) {
      const NodeId copy = internal_[at(graph.file_id(v))];
      by_file_id[at(graph.file_id(v))] = v;
      part.start[at(v)] = schedule().start[at(copy)];
      part.finish[at(v)] = schedule().finish[at(copy)];
      part.makespan = std::max(part.makespan, part.finish[at(v)]);
    }
    for (const NodeId v : schedule().start_order) {
      const std::int64_t id = replicas_.graph.file_id(v);
      if (id < graph.num_nodes()) part.start_order.push_back(by_file_id[at(id)]);
    }
    return part;
  }

  Nanoseconds greatest_reduction() const {
    std::vector<Nanoseconds> busy(at(replicas_.devices), 0);
    for (std::size_t b = 0; b < replicas_.buckets.size(); ++b) {
      const NodeId v = bucket_node(b);
      busy[at(replicas_.buckets[b].device)] += schedule().finish[at(v)] - schedule().start[at(v)];
    }
    return *std::max_element(busy.begin(), busy.end());
  }

  /// Peaks of all placed devices. A reducer's workspace is held on its device of every copy; gradients are held until they are reduced and sent.
  std::vector<Bytes> peaks(const Graph& graph) {
    const std::vector<Nanoseconds> until = reduced_and_sent(graph);
    PeakCounter counter(at(replicas_.num_placed()));
    MemoryTracker tracker(costs_);
    tracker.visit_holdings(replicas_.placement.device, schedule(), emulator_.delivered(), [&](Holding holding) {
      if (holding.kind == HoldingKind::buffer) holding.to = std::max(holding.to, until[at(holding.owner)]);
      if (holding.device < replicas_.num_placed()) return counter.add(holding.device, holding);
      for (DeviceId d = holding.device - replicas_.num_placed(); d < replicas_.num_placed(); d += replicas_.devices) counter.add(d, holding);
    });
    return counter.peaks();
  }

 private:
  struct Event {
    Nanoseconds time;
    Bytes bytes;
  };

  /// Sums what is held on each device.
  class PeakCounter {
   public:
    explicit PeakCounter(std::size_t devices) : events_(devices) {}
    void add(DeviceId device, const Holding& holding) {
      events_[at(device)].push_back({holding.from, holding.bytes});
      events_[at(device)].push_back({holding.to, -holding.bytes});
    }
    std::vector<Bytes> peaks() {
      std::vector<Bytes> peaks;
      for (std::vector<Event>& events : events_) {
        // What ends at a time is given back before what begins there is taken.
        std::sort(events.begin(), events.end(), [](const Event& a, const Event& b) { return a.time != b.time ? a.time < b.time : a.bytes < b.bytes; });
        Bytes held = 0, peak = 0;
        for (const Event& event : events) peak = std::max(peak, held += event.bytes);
        peaks.push_back(peak);
      }
      return peaks;
    }

   private:
    std::vector<std::vector<Event>> events_;
  };

  NodeId bucket_node(std::size_t b) const { return internal_[at(replicas_.copies * replicas_.nodes) + b]; }

  /// For the buffers of gradients: when their bucket is reduced, and sent to the last other device. 0 for all others.
  std::vector<Nanoseconds> reduced_and_sent(const Graph& graph) const {
    std::vector<Nanoseconds> until(internal_.size(), 0);
    const Graph& larger = replicas_.graph;
    const std::span<const Nanoseconds> delivered = emulator_.delivered();
    for (std::size_t b = 0; b < replicas_.buckets.size(); ++b) {
      const NodeId bucket = bucket_node(b);
      const auto hold = [&](std::int64_t copy, NodeId gradient, Nanoseconds time) {
        const NodeId node = internal_[at(copy * replicas_.nodes + graph.file_id(gradient))];
        Nanoseconds& end = until[at(larger.root(node))];
        end = std::max(end, time);
      };
      for (const NodeId g : replicas_.buckets[b].gradients) {
        for (std::int64_t c = 0; c < replicas_.copies; ++c) hold(c, g, schedule().finish[at(bucket)]);
      }
      for (EdgeId e = larger.out_begin(bucket); e < larger.out_end(bucket); ++e) {
        if (larger.bytes(e) == 0) continue;
        const NodeId v = larger.target(e);
        const Nanoseconds arrives = delivered.empty() ? schedule().finish[at(bucket)] + costs_.cost(e, replicas_.placement.device[at(bucket)], replicas_.placement.device[at(v)])
                                                      : delivered[at(e)];
        hold(larger.file_id(v) / replicas_.nodes, replicas_.sent[b][at(larger.output(e))], arrives);
      }
    }
    return until;
  }

  const Replicas& replicas_;
  CostModel costs_;
  Emulator emulator_;
  std::vector<NodeId> internal_;  // by file id
};

/// `peaks`: by kind of slice, then device.
void add_memory(ReplicatedStep& step, const Replicas& replicas, const std::vector<Bytes>& peaks) {
  step.peak.assign(at(replicas.devices), 0);
  step.overflow.assign(at(replicas.devices), 0);
  for (std::size_t i = 0; i < peaks.size(); ++i) {
    const std::size_t d = i % at(replicas.devices);
    step.peak[d] = std::max(step.peak[d], peaks[i]);
    step.overflow[d] = std::max(step.overflow[d], peaks[i] - replicas.machine.usable(static_cast<DeviceId>(i)));
  }
}

}  // namespace

ReplicatedStep emulate_replicas(const Graph& graph, std::span<const Gradient> gradients, const Machine& machine, std::span<const Slice> slices,
                                const Placement& placement, Policy policy, Bytes bucket_bytes) {
  ReplicatedStep step;
  const Machine part = sub_machine(machine, slices.front());
  Placement used = placement;
  std::vector<Bucket> buckets;
  {
    const CostModel costs(graph, part);
    // The priorities of the placement without reductions, where it brings none: the order that its file promises.
    if (policy == Policy::priority && used.priority.empty()) used.priority = placed_bottom_levels(costs, used.device);
    Emulator emulator(costs);
    const Schedule& alone = emulator.run(used.device, policy, used.priority);
    step.time_alone = alone.makespan;
    if (slices.size() > 1) buckets = fill_buckets(gradients, used.device, alone, bucket_bytes);
  }
  step.buckets = static_cast<std::int64_t>(buckets.size());
  for (const Bucket& bucket : buckets) step.reduced_bytes += bucket.bytes;
  Replicas replicas = ReplicaBuilder(graph, machine, slices, used, std::move(buckets)).build();
  ReplicaRun run(replicas, policy);
  step.time = run.schedule().makespan;
  step.greatest_reduction = run.greatest_reduction();
  step.schedule = run.first_copy(graph);
  add_memory(step, replicas, run.peaks(graph));
  return step;
}

}  // namespace pardnn
