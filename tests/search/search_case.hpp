/// A random graph with a machine and a random legal placement of it, ready to be searched.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <vector>

#include "judge/judge.hpp"
#include "pardnn/emulate.hpp"
#include "search/candidate.hpp"
#include "support/random_machines.hpp"

namespace pardnn::test {

struct SearchCase {
  explicit SearchCase(std::uint64_t seed)
      : drawn(random_case(seed)), graph(drawn.data), costs(graph, drawn.machine), judge(costs, drawn.policy) {
    TestRandom random(seed + 99);
    const std::vector<DeviceId> device =
        random_placement(random, drawn.data, PlacementKind::respects_units, drawn.machine.num_devices());
    start.device = graph.to_internal(std::span<const DeviceId>(device));
    start.score = judge.score(start.device);
  }

  /// What evaluate() says of a candidate, as a score. Peak as the judge gives it.
  Score judged_again(const Candidate& candidate) const {
    const Evaluation evaluation = evaluate(graph, drawn.machine, {candidate.device, candidate.priority}, drawn.policy);
    EXPECT_TRUE(evaluation.broken.empty());
    return {evaluation.total_overflow(), evaluation.makespan, judge.memory_matters() ? evaluation.greatest_peak() : 0};
  }

  RandomCase drawn;
  Graph graph;
  CostModel costs;
  Judge judge;
  Candidate start;
};

}  // namespace pardnn::test
