#include "repair/move_candidates.hpp"

#include <gtest/gtest.h>
#include <oneapi/tbb/parallel_for.h>

#include <algorithm>
#include <set>

#include "support/random_graphs.hpp"
#include "support/random_machines.hpp"

namespace pardnn {
namespace {

std::vector<UnitId> pop_all(CandidateHeaps& heaps) {
  std::vector<UnitId> order;
  while (const auto candidate = heaps.pop()) order.push_back(candidate->part);
  return order;
}

/// The stated order by linear search: the least cost / potential, unless a unit that covers the whole overflow is
/// cheaper; the lower unit on ties.
std::vector<UnitId> slow_order(std::vector<MoveCandidate> left, Bytes overflow) {
  __extension__ using Wide = __int128;
  std::vector<UnitId> order;
  while (!left.empty()) {
    const auto by_ratio = std::min_element(left.begin(), left.end(), [](const MoveCandidate& a, const MoveCandidate& b) {
      const Wide l = Wide(a.cost) * b.potential, r = Wide(b.cost) * a.potential;
      return l != r ? l < r : a.part < b.part;
    });
    auto chosen = by_ratio;
    for (auto c = left.begin(); c != left.end(); ++c) {
      if (c->potential <= overflow) continue;
      if (c->cost < chosen->cost || (chosen != by_ratio && c->cost == chosen->cost && c->part < chosen->part)) chosen = c;
    }
    order.push_back(chosen->part);
    left.erase(chosen);
  }
  return order;
}

// Overflow 10. By ratio: u0 2/8 = .25, u1 5/12 = .42, u2 1/1, u3 30/20 = 1.5. Covering (> 10): u1, u3. u0 is cheaper than
// u1, so u0 first; then u1; then u2 (u3 covers but costs more); then u3.
TEST(CandidateHeaps, CheapestPerByteFirst) {
  CandidateHeaps heaps(10);
  for (const MoveCandidate& c : {MoveCandidate{3, 20, 30}, {1, 12, 5}, {0, 8, 2}, {2, 1, 1}}) heaps.push(c);
  EXPECT_EQ(pop_all(heaps), (std::vector<UnitId>{0, 1, 2, 3}));
}

// Overflow 10: u0 frees 1000 for 100 (ratio .1), u1 frees 11 for 20 (1.8) and that is enough: it is cheaper, so first. A
// unit that frees exactly 10 does not count as covering (M_pot > O).
TEST(CandidateHeaps, ACheaperUnitThatCoversTheOverflowGoesFirst) {
  CandidateHeaps heaps(10);
  for (const MoveCandidate& c : {MoveCandidate{0, 1000, 100}, {1, 11, 20}, {2, 10, 19}}) heaps.push(c);
  EXPECT_EQ(pop_all(heaps), (std::vector<UnitId>{1, 0, 2}));
}

TEST(CandidateHeaps, TiesGoToTheLowerUnit) {
  CandidateHeaps heaps(100);
  for (const MoveCandidate& c : {MoveCandidate{7, 4, 2}, {2, 8, 4}, {5, 2, 1}}) heaps.push(c);
  EXPECT_EQ(pop_all(heaps), (std::vector<UnitId>{2, 5, 7}));
  EXPECT_FALSE(heaps.pop().has_value());
}

// 2^60 * 2^50 passes 64 bits: the ratios still compare exactly.
TEST(CandidateHeaps, ComparesRatiosExactly) {
  const std::int64_t large = std::int64_t{1} << 60;
  CandidateHeaps heaps(kSumLimit);
  for (const MoveCandidate& c : {MoveCandidate{0, large, large + 1}, {1, large, large}, {2, large - 1, large}}) heaps.push(c);
  EXPECT_EQ(pop_all(heaps), (std::vector<UnitId>{1, 0, 2}));
}

TEST(CandidateHeaps, OrderDoesNotDependOnWhoPushedFirst) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    test::TestRandom random(seed);
    std::vector<MoveCandidate> candidates;
    const std::int64_t count = 1 + random.below(30);
    const Bytes most = seed % 2 == 0 ? 5 : 1000;
    for (UnitId u = 0; u < count; ++u) candidates.push_back({u, 1 + random.below(most), random.below(most)});
    const Bytes overflow = random.below(most);
    const std::vector<UnitId> expected = slow_order(candidates, overflow);
    for (int shuffle = 0; shuffle < 5; ++shuffle) {
      for (std::int64_t i = count - 1; i > 0; --i) std::swap(candidates[i], candidates[random.below(i + 1)]);
      CandidateHeaps heaps(overflow);
      for (const MoveCandidate& c : candidates) heaps.push(c);
      ASSERT_EQ(pop_all(heaps), expected);
    }
    CandidateHeaps parallel(overflow);
    tbb::parallel_for(std::size_t{0}, candidates.size(), [&](std::size_t i) { parallel.push(candidates[i]); });
    ASSERT_EQ(pop_all(parallel), expected);
  }
}

/// Candidates of device 0 at time t, by unit; the unit's cost and potential.
std::vector<MoveCandidate> candidates_at(const test::GraphBuilder& builder, const Machine& machine,
                                         const std::vector<DeviceId>& device, Nanoseconds t) {
  const Graph graph(builder.data());
  const CostModel costs(graph, machine);
  Judge judge(costs, Policy::fifo);
  judge.score(device);
  std::vector<Nanoseconds> at(machine.devices.size(), -1);
  at[0] = t;
  return move_candidates(judge, MoveParts(graph, {}), device, at, Claim::alone);
}

Machine tiny(DeviceId devices) {
  Machine machine = homogeneous_machine(devices, 1, 1'000'000'000, 2);
  machine.headroom = 0;
  return machine;
}

//   w (residual, 9), a(2) --4B--> b(3, temp 10), a --4B--> c(1); mem a 4, b 6, c 1; all on device 0
//   w [0,1), a [1,3), b [3,6), c [6,7). At 3: w 9 and b 6 + 10 are their own; a's buffer is needed by b and c: nobody's.
//   Eqn 4: w 1; b 3 + (2 + 4) for the edge from a, which would be cut.
TEST(MoveCandidates, WhatOneUnitAloneHoldsAtThatMoment) {
  test::GraphBuilder g;
  g.node("w", 1, 9).node("a", 2, 4).node("b", 3, 6, 10).node("c", 1, 1).kind("w", NodeKind::residual);
  g.edge("a", "b", 4).edge("a", "c", 4);
  const std::vector<MoveCandidate> found = candidates_at(g, tiny(2), {0, 0, 0, 0}, 3);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].potential, 9);
  EXPECT_EQ(found[0].cost, 1);
  EXPECT_EQ(found[1].potential, 16);
  EXPECT_EQ(found[1].cost, 9);
  // At 6 b is gone, and c alone keeps a's buffer beside its own.
  const std::vector<MoveCandidate> later = candidates_at(g, tiny(2), {0, 0, 0, 0}, 6);
  ASSERT_EQ(later.size(), 2U);
  EXPECT_EQ(later[1].part, 3);
  EXPECT_EQ(later[1].potential, 5);
  EXPECT_EQ(later[1].cost, 7);
}

//   a(1) on device 1 --5B--> x(1) on device 0: the copy [1, 9) is x's.
TEST(MoveCandidates, ACopyBelongsToItsOnlyConsumer) {
  test::GraphBuilder g;
  g.node("a", 1, 0).node("x", 1, 3).edge("a", "x", 5);
  const std::vector<MoveCandidate> found = candidates_at(g, tiny(2), {1, 0}, 2);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].part, 1);
  EXPECT_EQ(found[0].potential, 5);
  EXPECT_EQ(found[0].cost, 1);
}

TEST(MoveCandidates, PinnedUnitsAndOtherDevicesAreNone) {
  test::GraphBuilder g;
  g.node("p", 1, 9).node("q", 1, 9).kind("p", NodeKind::residual).kind("q", NodeKind::residual).pin("p", 0);
  EXPECT_TRUE(candidates_at(g, tiny(2), {0, 1}, 0).empty());
  EXPECT_EQ(candidates_at(g, tiny(2), {0, 0}, 0).size(), 1U);
}

}  // namespace
}  // namespace pardnn
