/// Starts for graphs with several micro-batches.
#pragma once

#include "search/start_list.hpp"

namespace pardnn {

/// Layouts of replicas over devices, from pure data parallelism on (construct/replica_start.hpp); nothing if the graph has no
/// replicas. A few emulations.
void list_replica_starts(StartList& starts, Pool& pool, Preset preset);

}  // namespace pardnn
