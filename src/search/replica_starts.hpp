/// Starts for graphs with several micro-batches.
#pragma once

#include "search/pool.hpp"
#include "search/starts.hpp"

namespace pardnn {

/// Layouts of replicas over devices, from pure data parallelism on (construct/replica_start.hpp); nothing if the graph has no
/// replicas. A few emulations.
void add_replica_starts(Pool& pool, const StartContext& context);

}  // namespace pardnn
