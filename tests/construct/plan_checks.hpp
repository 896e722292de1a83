/// What every plan of a list scheduler must satisfy, and helpers to ask a plan by name.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "construct/list_scheduler.hpp"
#include "support/random_graphs.hpp"

namespace pardnn::test {

/// K devices, 1 byte takes 1 ns, latency as given.
inline Machine byte_per_ns(DeviceId devices, Nanoseconds latency = 0) {
  return homogeneous_machine(devices, kUnlimited, 1'000'000'000, latency);
}

/// Two hosts of two devices: links inside a host take 1 ns a byte, across hosts 10 and 7 ns of latency; the second host is half as fast.
inline Machine two_unequal_hosts() {
  Machine machine = byte_per_ns(4, 1);
  for (DeviceId p = 0; p < 4; ++p) {
    machine.devices[p].host = p / 2;
    machine.devices[p].speed = p < 2 ? kOne : kOne / 2;
    for (DeviceId q = 0; q < 4; ++q) {
      if (p / 2 == q / 2) continue;
      machine.latency[machine.link(p, q)] = 7;
      machine.bandwidth[machine.link(p, q)] = 100'000'000;
    }
  }
  return machine;
}

/// A plan of a hand-made graph, asked by name.
struct HandPlan {
  HandPlan(const GraphBuilder& built, const Machine& on, const ListOptions& options)
      : builder(built), graph(built.data()), machine(on), costs(graph, machine), plan(construct_list(costs, options)) {
    start = graph.to_file_order(std::span<const Nanoseconds>(plan.start));
    device = graph.to_file_order(std::span<const DeviceId>(plan.device));
    priority = graph.to_file_order(std::span<const std::int64_t>(plan.priority));
  }
  Nanoseconds starts(const std::string& name) const { return start[builder.id(name)]; }
  DeviceId on(const std::string& name) const { return device[builder.id(name)]; }
  std::int64_t rank(const std::string& name) const { return -priority[builder.id(name)]; }

  const GraphBuilder& builder;
  Graph graph;
  Machine machine;
  CostModel costs;
  Constructed plan;
  std::vector<Nanoseconds> start;
  std::vector<DeviceId> device;
  std::vector<std::int64_t> priority;
};

/// Units together, pins respected, every device known.
inline void expect_legal_placement(const CostModel& costs, const Constructed& plan) {
  const Graph& graph = costs.graph();
  ASSERT_EQ(plan.device.size(), static_cast<std::size_t>(graph.num_nodes()));
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    ASSERT_GE(plan.device[v], 0);
    ASSERT_LT(plan.device[v], costs.num_devices());
    EXPECT_EQ(plan.device[v], plan.device[graph.unit_nodes(graph.unit(v)).front()]) << "unit of node " << v;
    EXPECT_TRUE(graph.fixed(v) == kNoDevice || plan.device[v] == graph.fixed(v)) << "pin of node " << v;
  }
}

/// Priorities are a permutation of 0 .. -(V-1) in which predecessors come first.
inline void expect_topological_priority(const Graph& graph, const Constructed& plan) {
  ASSERT_EQ(plan.priority.size(), static_cast<std::size_t>(graph.num_nodes()));
  std::vector<std::int64_t> sorted(plan.priority);
  std::sort(sorted.rbegin(), sorted.rend());
  for (std::size_t r = 0; r < sorted.size(); ++r) ASSERT_EQ(sorted[r], -static_cast<std::int64_t>(r));
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    for (EdgeId e = graph.out_begin(v); e < graph.out_end(v); ++e) {
      EXPECT_GT(plan.priority[v], plan.priority[graph.target(e)]) << v << " -> " << graph.target(e);
    }
  }
}

/// No node starts before its inputs are there, and no two nodes with a duration overlap on a device.
inline void expect_legal_times(const CostModel& costs, const Constructed& plan) {
  const Graph& graph = costs.graph();
  const auto finish = [&](NodeId v) { return plan.start[v] + costs.duration(v, plan.device[v]); };
  std::vector<NodeId> order(graph.num_nodes());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](NodeId a, NodeId b) { return plan.priority[a] > plan.priority[b]; });
  std::vector<Nanoseconds> free(costs.num_devices(), 0);
  Nanoseconds makespan = 0;
  for (const NodeId v : order) {
    for (EdgeId i = graph.in_begin(v); i < graph.in_end(v); ++i) {
      const NodeId u = graph.source(i);
      EXPECT_GE(plan.start[v], finish(u) + costs.cost(graph.in_edge(i), plan.device[u], plan.device[v])) << u << " -> " << v;
    }
    makespan = std::max(makespan, finish(v));
    if (finish(v) == plan.start[v]) continue;
    EXPECT_GE(plan.start[v], free[plan.device[v]]) << "device " << plan.device[v] << " still runs when " << v << " starts";
    free[plan.device[v]] = finish(v);
  }
  EXPECT_EQ(plan.makespan, makespan);
}

}  // namespace pardnn::test
