/// How early each node can start, and how long the run lasts after it, in any placement.
#pragma once

#include <vector>

#include "costs/cost_model.hpp"

namespace pardnn {

/// Duration of each node where it runs fastest, or where it is pinned; V entries. O(V).
std::vector<Nanoseconds> least_durations(const CostModel& costs);

struct HeadsAndTails {
  std::vector<Nanoseconds> head;  ///< no placement starts v before
  std::vector<Nanoseconds> tail;  ///< no placement ends within less after v has finished
};

/// A node's inputs come either from its own device, where they were computed one after the other, or over a link, which
/// takes its time: the best choice of which is a lower bound (the argument of C. Papadimitriou and M. Yannakakis, SIAM J.
/// Comput. 19, 1990, for direct predecessors; without duplication it holds for successors too). Predecessors that share
/// a device by colocation run one after the other anyhow. `work` as of least_durations(). O(E log^2 degree).
HeadsAndTails heads_and_tails(const CostModel& costs, const std::vector<Nanoseconds>& work);

}  // namespace pardnn
