/// One placement judged again and again with kept working memory.
#pragma once

#include <string>
#include <vector>

#include "bounds/makespan_bound.hpp"
#include "memory/memory_profile.hpp"

namespace pardnn {

/// Which of colocation, alias and fixed `device` breaks, in this order. O(V).
std::vector<std::string> broken_rules(const Graph& graph, std::span<const DeviceId> device);

/// What model.md says of a run that has been emulated and tracked. O(V + E).
Evaluation describe_run(const CostModel& costs, std::span<const DeviceId> device, const Schedule& schedule,
                        const MemoryPeaks& peaks, const MakespanBounds& bounds);

}  // namespace pardnn
