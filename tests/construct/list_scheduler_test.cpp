#include "construct/list_scheduler.hpp"

#include <gtest/gtest.h>

#include "construct/list_order.hpp"
#include "construct/list_state.hpp"
#include "construct/plan_checks.hpp"
#include "emulation/emulator.hpp"
#include "levels/weighted_levels.hpp"
#include "support/random_machines.hpp"

namespace pardnn {
namespace {

std::vector<ListOptions> all_kinds(DeviceId devices) {
  std::vector<ListOptions> all;
  for (const ListMethod method : {ListMethod::heft, ListMethod::etf, ListMethod::eil}) {
    for (const bool lazy : {false, true}) {
      ListOptions options;
      options.method = method;
      options.lazy_sources = lazy;
      all.push_back(options);
      options.comm_weight = 2'500'000;
      options.lookahead = kOne;
      options.ports = true;
      options.favourite_children = true;
      options.reserve = 2 * kOne;
      options.port_price = kOne / 2;
      options.stay = kOne;
      all.push_back(options);
      options.comm_weight = kOne / 2;
      options.settle_again = false;
      options.devices = {0, 2};
      options.device_ties = DeviceTies::latest_input;
      all.push_back(options);
      options.devices.clear();
      options.budget.assign(devices, 120);
      options.dispatch = Dispatch::bottom_level;
      options.decide_first = DecideFirst::greater_bottom_level;
      all.push_back(options);
    }
  }
  return all;
}

TEST(ListScheduler, AKnownOrderAndNoPlanGiveTheSameDevices) {
  constexpr DeviceId kDevices = 4;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    test::RandomGraphOptions shape;
    shape.nodes = 40;
    shape.zero_comp = 40;
    shape.devices = kDevices;
    const Graph graph(test::random_graph_data(seed, shape));
    const Machine machine = homogeneous_machine(kDevices, kUnlimited, 1'000'000'000, 3);
    const CostModel costs(graph, machine);
    const ListOrder order = list_order(costs, {});
    for (ListOptions options : all_kinds(kDevices)) {
      SCOPED_TRACE(variant_name(options) + ", seed " + std::to_string(seed));
      const Constructed plain = construct_list(costs, options);
      options.order = &order;
      const Constructed known = construct_list(costs, options);
      EXPECT_EQ(known.device, plain.device);
      EXPECT_EQ(known.priority, plain.priority);
      options.plan_order = false;
      const Constructed devices = construct_list(costs, options);
      EXPECT_EQ(devices.device, plain.device);
      EXPECT_TRUE(devices.priority.empty());
    }
  }
}

TEST(ListScheduler, EveryVariantPlansLegallyOnEveryMachine) {
  constexpr DeviceId kDevices = 4;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    test::TestRandom random(seed);
    test::RandomGraphOptions shape;
    shape.nodes = 1 + random.below(60);
    shape.window = random.below(2) * 6;
    shape.zero_comp = seed % 2 == 0 ? 10 : 60;
    shape.outputs = seed % 3 == 0;
    shape.devices = kDevices;
    const Graph graph(test::random_graph_data(seed, shape));
    const auto kind = static_cast<test::MachineKind>(seed % test::kMachineKinds);
    const Machine machine = test::random_machine(random, kind, kDevices, kUnlimited, Links::free);
    const CostModel costs(graph, machine);
    for (const ListOptions& options : all_kinds(kDevices)) {
      SCOPED_TRACE(variant_name(options) + ", seed " + std::to_string(seed));
      const Constructed plan = construct_list(costs, options);
      test::expect_legal_placement(costs, plan);
      test::expect_topological_priority(graph, plan);
      test::expect_legal_times(costs, plan);
      const Constructed again = construct_list(costs, options);
      EXPECT_EQ(again.device, plan.device);
      EXPECT_EQ(again.priority, plan.priority);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(ListScheduler, FreeUnitsStayOnTheDevicesAllowed) {
  const Graph graph(test::random_graph_data(3, test::RandomGraphOptions::plain(50)));
  const Machine machine = test::byte_per_ns(4);
  const CostModel costs(graph, machine);
  for (const ListMethod method : {ListMethod::heft, ListMethod::etf, ListMethod::eil}) {
    ListOptions options;
    options.method = method;
    options.devices = {1, 3};
    const Constructed plan = construct_list(costs, options);
    for (const DeviceId d : plan.device) EXPECT_TRUE(d == 1 || d == 3) << variant_name(options);
    EXPECT_NE(std::count(plan.device.begin(), plan.device.end(), 1), 0);
    EXPECT_NE(std::count(plan.device.begin(), plan.device.end(), 3), 0);
  }
}

TEST(ListScheduler, GivenDevicesHold) {
  const Graph graph(test::random_graph_data(5, test::RandomGraphOptions::plain(40)));
  const Machine machine = test::byte_per_ns(3);
  const CostModel costs(graph, machine);
  std::vector<DeviceId> given(graph.num_nodes(), kNoDevice);
  for (NodeId v = 0; v < graph.num_nodes(); v += 3) given[v] = static_cast<DeviceId>(v / 3 % 3);
  for (const ListMethod method : {ListMethod::heft, ListMethod::etf, ListMethod::eil}) {
    ListOptions options;
    options.method = method;
    options.given = given;
    const Constructed plan = construct_list(costs, options);
    for (NodeId v = 0; v < graph.num_nodes(); v += 3) EXPECT_EQ(plan.device[v], given[v]);
  }
}

// Four operations of 10 bytes each that live to the end, two devices. In time order all could run on device 0; with a budget of 25 it takes two.
TEST(ListScheduler, ABudgetSendsNodesElsewhere) {
  test::GraphBuilder builder;
  for (const char* name : {"A", "B", "C", "D"}) builder.node(name, 1, 10);
  builder.node("E", 1, 0);
  // A chain of control edges keeps everything in order; transfers are dear, so that without a budget all stay together.
  builder.edge("A", "B", 1000).edge("B", "C", 1000).edge("C", "D", 1000);
  for (const char* name : {"A", "B", "C", "D"}) builder.edge(name, "E", 1);
  for (const ListMethod method : {ListMethod::etf, ListMethod::eil}) {
    ListOptions options;
    options.method = method;
    const test::HandPlan free(builder, test::byte_per_ns(2), options);
    EXPECT_EQ(free.on("A"), free.on("D"));
    options.budget = {25, 5000};
    const test::HandPlan tight(builder, test::byte_per_ns(2), options);
    EXPECT_EQ(tight.on("A"), 0);
    EXPECT_EQ(tight.on("B"), 0);
    EXPECT_EQ(tight.on("C"), 1);
  }
}

TEST(ListScheduler, FeedbackStartsWithThePlainPlan) {
  const Graph graph(test::random_graph_data(8, test::RandomGraphOptions::plain(80, 10)));
  const Machine machine = test::byte_per_ns(3, 5);
  const CostModel costs(graph, machine);
  ListOptions options;
  options.method = ListMethod::etf;
  const std::vector<Constructed> plans = construct_with_feedback(costs, options, 2);
  ASSERT_EQ(plans.size(), 3U);
  EXPECT_EQ(plans[0].device, construct_list(costs, options).device);
  const std::vector<Nanoseconds> bottom = placed_bottom_levels(costs, plans[0].device);
  options.bottom_levels = bottom;
  EXPECT_EQ(plans[1].device, construct_list(costs, options).device);
}

//  W(0) -> V(0) -> A(1), S(0): W, V and S are lazy; Z(0) has a predecessor with work and is not.
TEST(ListScheduler, LazyNodesHaveNoWorkBeforeThem) {
  const test::GraphBuilder builder = test::GraphBuilder().node("W", 0).node("V", 0).node("A", 1).node("S", 0).node("Z", 0)
                                         .edge("W", "V", 1).edge("V", "A", 1).edge("A", "Z", 1);
  const Graph graph(builder.data());
  const std::vector<char> lazy = lazy_nodes(graph);
  std::vector<char> by_file(5);
  for (NodeId v = 0; v < 5; ++v) by_file[graph.file_id(v)] = lazy[v];
  EXPECT_EQ(by_file, (std::vector<char>{1, 1, 0, 1, 0}));
}

TEST(ListScheduler, NamesTellVariantsApart) {
  ListOptions options;
  EXPECT_EQ(variant_name(options), "eil");
  options.lazy_sources = true;
  options.comm_weight = 1'500'000;
  options.lookahead = kOne / 4;
  options.devices = {0, 1};
  options.budget = {1};
  options.reserve = kOne;
  options.heir_through = kOne / 2;
  options.ports = true;
  options.port_price = 3 * kOne;
  options.stay = kOne;
  EXPECT_EQ(variant_name(options), "eil-lazy-c1.5-a0.25-r1-t0.5-ports-p3-s1-d2-mem");
}

// A chain longer than any call stack could follow, all of it lazy.
TEST(ListScheduler, LongLazyChainsDoNotRecurse) {
  const Graph graph(test::chain(200'000, 0, 1));
  const Machine machine = test::byte_per_ns(2);
  const CostModel costs(graph, machine);
  for (const ListMethod method : {ListMethod::heft, ListMethod::etf, ListMethod::eil}) {
    ListOptions options;
    options.method = method;
    options.lazy_sources = true;
    EXPECT_EQ(construct_list(costs, options).makespan, 0);
  }
}

}  // namespace
}  // namespace pardnn
