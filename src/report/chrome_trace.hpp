/// The emulated run as a Chrome trace, for chrome://tracing and Perfetto.
///
/// One process for each device: a thread "compute" with a slice for each node; under ports a thread "port" with a slice for each transfer that holds
/// it; under free links threads "copies", as many as there are transfers under way at once; a counter "memory" with the bytes in use, and one "usable memory"
/// where it is limited. Flows lead from the producer to the transfer and from there to each consumer; control edges between devices from node
/// to node. Times are microseconds with three decimals, so exact.
#pragma once

#include <string>

#include "report/emulated_run.hpp"

namespace pardnn {

/// Written piece by piece and atomically; beside the run itself memory is O(transfers under way at once). O((V + E) log E). Throws SystemError.
void write_chrome_trace(const std::string& file, const EmulatedRun& run);

}  // namespace pardnn
