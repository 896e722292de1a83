#include "plan/replicated_step.hpp"

#include <algorithm>
#include <tuple>

#include <gtest/gtest.h>

#include "support/oracle.hpp"
#include "support/random_graphs.hpp"

namespace pardnn {
namespace {

using test::GraphBuilder;

// One device a replica, two replicas; 1 byte per ns and no latency between them, so a ring of two takes as long as its bytes.
//   f 10 -> b 20 -> g 30 (gradient of w, 50 bytes) -> u 5
//           b ----> c 100 (more of the backward pass)
//   alone: f 0..10, b 10..30, g 30..60 (file order before c), c 60..160, u 160..165 (fifo: ready at 60 as c was at 30)
//   two:   g reduced 60..110 beside c, u ready at 110, starts at 160: the reduction costs nothing.
struct Chain {
  GraphData data = GraphBuilder()
                       .node("w", 0, 50).node("f", 10, 8).node("b", 20, 4).node("g", 30, 50).node("c", 100, 1).node("u", 5)
                       .kind("w", NodeKind::residual)
                       .edge("w", "f", 50).edge("f", "b", 8).edge("b", "g", 4).edge("b", "c", 4).edge("g", "u", 50)
                       .data();
  std::vector<std::int64_t> gradient_of{-1, -1, -1, 0, -1, -1};
};

ReplicatedStep step_of(const GraphData& data, const std::vector<std::int64_t>& gradient_of, const Machine& machine, const std::vector<Slice>& slices,
                       const std::vector<DeviceId>& device, Bytes bucket = 1000, Policy policy = Policy::fifo) {
  const Graph graph(data);
  const Placement placement{graph.to_internal(std::span<const DeviceId>(device)), {}};
  return emulate_replicas(graph, find_gradients(graph, gradient_of), machine, slices, placement, policy, bucket);
}

TEST(EmulateReplicas, ReductionOverlapsTheBackwardPass) {
  const Chain chain;
  const Machine machine = homogeneous_machine(2, 1000, 1'000'000'000, 0);
  const std::vector<DeviceId> device(6, 0);
  const ReplicatedStep one = step_of(chain.data, chain.gradient_of, machine, {{0}}, device);
  EXPECT_EQ(one.time, 165);
  EXPECT_EQ(one.buckets, 0);
  EXPECT_EQ(one.peak, (std::vector<Bytes>{50 + 4 + 50 + 1})) << "w, b until c ends, g until u, c";
  const ReplicatedStep two = step_of(chain.data, chain.gradient_of, machine, {{0}, {1}}, device);
  EXPECT_EQ(two.time, 165);
  EXPECT_EQ(two.time_alone, 165);
  EXPECT_EQ(two.buckets, 1);
  EXPECT_EQ(two.reduced_bytes, 50);
  EXPECT_EQ(two.greatest_reduction, 50);
  EXPECT_EQ(two.peak, (std::vector<Bytes>{50 + 4 + 50 + 1 + 50})) << "and the bucket while it is reduced";
}

TEST(EmulateReplicas, WhatDescendsFromTheGradientWaits) {
  const Chain chain;
  const Machine slow = homogeneous_machine(2, 150, 100'000'000, 3);  // 10 ns a byte
  const ReplicatedStep two = step_of(chain.data, chain.gradient_of, slow, {{0}, {1}}, std::vector<DeviceId>(6, 0));
  // g ends at 60, is reduced for 500 + 2 * 3 ns, then u.
  EXPECT_EQ(two.time, 60 + 506 + 5);
  EXPECT_EQ(two.time_alone, 165);
  EXPECT_EQ(two.overflow, (std::vector<Bytes>{155 - 135}));
}

TEST(EmulateReplicas, AGradientThatIsSentLeavesWhenItIsReduced) {
  const Chain chain;
  // Two devices a replica; u on the second. 1 byte per ns, no latency: g 30..60, reduced 60..110, sent 110..160, u 160..165.
  const Machine machine = homogeneous_machine(4, 1000, 1'000'000'000, 0);
  const std::vector<DeviceId> device{0, 0, 0, 0, 0, 1};
  for (const Links links : {Links::free, Links::ports}) {
    Machine used = machine;
    used.links = links;
    const ReplicatedStep step = step_of(chain.data, chain.gradient_of, used, {{0, 1}, {2, 3}}, device);
    EXPECT_EQ(step.time, 165);
    EXPECT_EQ(step.peak, (std::vector<Bytes>{50 + 4 + 50 + 1 + 50, 50})) << "the copy on the second device is taken at 110";
    EXPECT_EQ(*std::max_element(step.schedule.start.begin(), step.schedule.start.end()), 160) << "u";
  }
}

// A second, slow way to the same times: every replica with its own devices, time after time, deliveries held back by hand.
struct SlowReplicas {
  const GraphData& data;
  const Machine& machine;
  const std::vector<Slice>& slices;
  const std::vector<DeviceId>& device;  // by file id
  std::vector<std::vector<std::int64_t>> buckets;  // file ids
  std::vector<DeviceId> bucket_device;
  std::vector<Nanoseconds> reduction;
  std::vector<Bytes> bucket_bytes;

  struct Outcome {
    Nanoseconds time = 0;
    std::vector<Bytes> peak;  // of each device, the greatest over all replicas
  };

  Outcome run() const {
    const auto edges = test::oracle_edges(data);
    const std::size_t nodes = static_cast<std::size_t>(data.num_nodes()), replicas = slices.size();
    std::vector<std::int64_t> bucket_of(nodes, -1);
    for (std::size_t b = 0; b < buckets.size(); ++b) {
      for (const std::int64_t g : buckets[b]) bucket_of[static_cast<std::size_t>(g)] = static_cast<std::int64_t>(b);
    }
    std::vector<std::vector<Nanoseconds>> finish(replicas, std::vector<Nanoseconds>(nodes, kNever));
    std::vector<Nanoseconds> reduced(buckets.size(), kNever), ready(buckets.size(), kNever);
    std::vector<Nanoseconds> reducer_free(slices[0].size(), 0);
    std::vector<std::vector<Nanoseconds>> device_free(replicas, std::vector<Nanoseconds>(slices[0].size(), 0));
    Nanoseconds end = 0;
    // Starts are found in increasing time: at each step the earliest possible start of anything is taken.
    while (true) {
      struct Next {
        Nanoseconds start, ready;
        std::int64_t kind, replica, id;
        bool operator<(const Next& other) const {
          return std::tie(start, ready, kind, replica, id) < std::tie(other.start, other.ready, other.kind, other.replica, other.id);
        }
      };
      Next best{kNever, kNever, 0, 0, 0};
      for (std::size_t b = 0; b < buckets.size(); ++b) {
        if (reduced[b] != kNever) continue;
        Nanoseconds at = 0;
        for (std::size_t r = 0; r < replicas; ++r) {
          for (const std::int64_t g : buckets[b]) at = std::max(at, finish[r][static_cast<std::size_t>(g)]);
        }
        if (at == kNever) continue;
        best = std::min(best, Next{std::max(at, reducer_free[static_cast<std::size_t>(bucket_device[b])]), at, 0, 0, static_cast<std::int64_t>(b)});
      }
      for (std::size_t r = 0; r < replicas; ++r) {
        for (std::size_t v = 0; v < nodes; ++v) {
          if (finish[r][v] != kNever) continue;
          Nanoseconds at = 0;
          for (const auto& edge : edges) {
            if (edge.to != static_cast<std::int64_t>(v)) continue;
            const std::size_t u = static_cast<std::size_t>(edge.from);
            const Nanoseconds done = bucket_of[u] < 0 ? finish[r][u] : reduced[static_cast<std::size_t>(bucket_of[u])];
            const Slice& slice = slices[r];
            at = std::max(at, done == kNever ? kNever : done + test::oracle_cost(machine, edge.bytes, slice[static_cast<std::size_t>(device[u])], slice[static_cast<std::size_t>(device[v])]));
          }
          if (at == kNever) continue;
          best = std::min(best, Next{std::max(at, device_free[r][static_cast<std::size_t>(device[v])]), at, 1, static_cast<std::int64_t>(r), static_cast<std::int64_t>(v)});
        }
      }
      if (best.start == kNever) return {end, peaks(edges, bucket_of, finish, reduced)};
      if (best.kind == 0) {
        const std::size_t b = static_cast<std::size_t>(best.id);
        reduced[b] = best.start + reduction[b];
        reducer_free[static_cast<std::size_t>(bucket_device[b])] = reduced[b];
        end = std::max(end, reduced[b]);
      } else {
        const std::size_t r = static_cast<std::size_t>(best.replica), v = static_cast<std::size_t>(best.id);
        finish[r][v] = best.start + test::oracle_duration(data, machine, best.id, slices[r][static_cast<std::size_t>(device[v])]);
        device_free[r][static_cast<std::size_t>(device[v])] = finish[r][v];
        end = std::max(end, finish[r][v]);
      }
    }
  }

  /// What is held, summed anew at every moment at which something begins.
  std::vector<Bytes> peaks(const std::vector<test::OracleEdge>& edges, const std::vector<std::int64_t>& bucket_of, const std::vector<std::vector<Nanoseconds>>& finish,
                           const std::vector<Nanoseconds>& reduced) const {
    struct Held {
      Nanoseconds from, to;
      Bytes bytes;
    };
    std::vector<Bytes> greatest(slices[0].size(), 0);
    for (std::size_t r = 0; r < slices.size(); ++r) {
      std::vector<std::vector<Held>> held(slices[0].size());
      for (std::size_t v = 0; v < bucket_of.size(); ++v) {
        const std::size_t p = static_cast<std::size_t>(device[v]);
        const Nanoseconds start = finish[r][v] - test::oracle_duration(data, machine, static_cast<std::int64_t>(v), slices[r][p]);
        const Nanoseconds done = bucket_of[v] < 0 ? finish[r][v] : reduced[static_cast<std::size_t>(bucket_of[v])];
        Nanoseconds end = done;
        std::vector<Held> copies(slices[0].size(), Held{done, 0, 0});
        for (const auto& edge : edges) {
          if (edge.from != static_cast<std::int64_t>(v) || edge.bytes == 0) continue;
          const std::size_t u = static_cast<std::size_t>(edge.to), q = static_cast<std::size_t>(device[u]);
          end = std::max(end, q == p ? finish[r][u] : done + test::oracle_cost(machine, edge.bytes, slices[r][p], slices[r][q]));
          if (q == p) continue;
          copies[q].to = std::max(copies[q].to, finish[r][u]);
          copies[q].bytes = std::max(copies[q].bytes, edge.bytes);
        }
        const bool residual = !data.kind.empty() && data.kind[v] == 1;
        held[p].push_back(residual ? Held{-1, kNever, data.mem[v]} : Held{start, end, data.mem[v]});
        if (!data.temp.empty()) held[p].push_back({start, finish[r][v], data.temp[v]});
        for (std::size_t q = 0; q < copies.size(); ++q) held[q].push_back(copies[q]);
      }
      for (std::size_t b = 0; b < buckets.size(); ++b) held[static_cast<std::size_t>(bucket_device[b])].push_back({reduced[b] - reduction[b], reduced[b], bucket_bytes[b]});
      for (std::size_t p = 0; p < held.size(); ++p) {
        for (const Held& moment : held[p]) {
          Bytes sum = 0;
          for (const Held& other : held[p]) sum += other.from <= moment.from && moment.from < other.to ? other.bytes : 0;
          greatest[p] = std::max(greatest[p], sum);
        }
      }
    }
    return greatest;
  }
};

TEST(EmulateReplicas, EqualsEveryReplicaEmulatedByHand) {
  int reduced = 0, kinds = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    test::TestRandom random(seed);
    test::RandomGraphOptions shape = test::RandomGraphOptions::plain(25, 6);
    shape.zero_comp = 0;  // nodes without time start in rounds, which the slow way does not know
    GraphData data = test::random_graph_data(seed, shape);
    for (auto& comp : data.comp) comp = std::max<std::int64_t>(comp, 1);
    std::vector<std::int64_t> gradient_of(data.comp.size(), -1);
    data.kind.assign(data.comp.size(), 0);
    data.kind[0] = 1;
    for (std::size_t v = 1; v < gradient_of.size(); ++v) gradient_of[v] = random.chance(30) ? 0 : -1;
    const DeviceId k = static_cast<DeviceId>(1 + random.below(3));
    const int replicas = static_cast<int>(1 + random.below(3));
    Machine machine = homogeneous_machine(k * replicas, 1000, 1'000'000'000, 2);
    if (random.chance(50)) machine.devices[0].speed = kOne / 2;
    if (random.chance(50) && machine.num_devices() > 1) machine.bandwidth[1] = 300'000'000;
    std::vector<Slice> slices;
    for (int r = 0; r < replicas; ++r) {
      slices.emplace_back();
      for (DeviceId d = 0; d < k; ++d) slices.back().push_back(static_cast<DeviceId>(r) * k + d);
    }
    std::vector<DeviceId> device;
    for (std::size_t v = 0; v < data.comp.size(); ++v) device.push_back(static_cast<DeviceId>(random.below(k)));
    const Graph graph(data);
    const std::vector<Gradient> gradients = find_gradients(graph, gradient_of);
    const Placement placement{graph.to_internal(std::span<const DeviceId>(device)), {}};
    const Bytes limit = 1 + random.below(60);
    const ReplicatedStep step = emulate_replicas(graph, gradients, machine, slices, placement, Policy::fifo, limit);

    SlowReplicas slow{data, machine, slices, device, {}, {}, {}, {}};
    if (replicas > 1) {
      const Schedule alone = emulate(graph, sub_machine(machine, slices[0]), placement, Policy::fifo);
      for (const Bucket& bucket : fill_buckets(gradients, placement.device, alone, limit)) {
        slow.buckets.emplace_back();
        for (const NodeId g : bucket.gradients) slow.buckets.back().push_back(graph.file_id(g));
        slow.bucket_device.push_back(bucket.device);
        slow.bucket_bytes.push_back(bucket.bytes);
        slow.reduction.push_back(ring_all_reduce_time(machine, slices, bucket.device, bucket.bytes));
      }
      reduced += static_cast<int>(slow.buckets.size());
      kinds += slice_kinds(machine, slices) != std::vector<int>(slices.size(), 0) ? 1 : 0;
    }
    const SlowReplicas::Outcome expected = slow.run();
    EXPECT_EQ(step.time, expected.time) << "seed " << seed;
    EXPECT_EQ(step.peak, expected.peak) << "seed " << seed;
  }
  EXPECT_GT(reduced, 50);
  EXPECT_GT(kinds, 10);
}

TEST(EmulateReplicas, OneReplicaIsTheEmulatedRunOfThePlacement) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    test::RandomGraphOptions shape;
    shape.devices = 3;
    shape.outputs = seed % 2 == 0;
    const Graph graph(test::random_graph_data(seed, shape));
    Machine machine = homogeneous_machine(3, 300, 1'000'000'000, 3);
    machine.links = seed % 3 == 0 ? Links::ports : Links::free;
    const Policy policy = seed % 4 < 2 ? Policy::fifo : Policy::priority;
    test::TestRandom random(seed);
    Placement placement;
    std::vector<DeviceId> unit_device;
    for (UnitId u = 0; u < graph.num_units(); ++u) unit_device.push_back(graph.unit_fixed(u) == kNoDevice || !graph.has_fixed() ? static_cast<DeviceId>(random.below(3)) : graph.unit_fixed(u));
    for (NodeId v = 0; v < graph.num_nodes(); ++v) placement.device.push_back(unit_device[static_cast<std::size_t>(graph.unit(v))]);
    Schedule schedule;
    const Evaluation evaluation = evaluate(graph, machine, placement, policy, &schedule);
    const ReplicatedStep step = emulate_replicas(graph, {}, machine, std::vector<Slice>{{0, 1, 2}}, placement, policy, 100);
    EXPECT_EQ(step.time, evaluation.makespan) << seed;
    EXPECT_EQ(step.schedule.start_order, schedule.start_order) << seed;
    for (std::size_t d = 0; d < 3; ++d) {
      EXPECT_EQ(step.peak[d], evaluation.devices[d].peak) << seed;
      EXPECT_EQ(step.overflow[d], evaluation.devices[d].overflow) << seed;
    }
  }
}

TEST(EmulateReplicas, GradientsThatDependOnEachOtherDoNotDeadlock) {
  // g1 on 0, g2 on 1 depends on it, g3 on 0 on that: all fit one bucket of device 0, but g3 must not share g1's.
  const GraphData data = GraphBuilder()
                             .node("w", 0, 10).node("g1", 1, 10).node("g2", 1, 10).node("g3", 1, 10)
                             .kind("w", NodeKind::residual).edge("g1", "g2", 10).edge("g2", "g3", 10).data();
  const Machine machine = homogeneous_machine(4, 1000, 1'000'000'000, 0);
  const ReplicatedStep step = step_of(data, {-1, 0, 0, 0}, machine, {{0, 1}, {2, 3}}, {0, 0, 1, 0});
  EXPECT_EQ(step.buckets, 3);
  // g1 0..1, reduced 1..11, sent 11..21, g2 21..22, reduced ..32, sent ..42, g3 42..43, reduced ..53.
  EXPECT_EQ(step.time, 53);
}

}  // namespace
}  // namespace pardnn
