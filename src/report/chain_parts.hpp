/// The critical chain in words: stretches of one module on one device.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "report/emulated_run.hpp"
#include "search/critical_chain.hpp"

namespace pardnn {

/// Nodes of the chain that follow one another in one module on one device.
struct ChainPart {
  std::string module;
  DeviceId device;
  Nanoseconds begins, ends;  ///< from the end of the part before to the end of its last node
  Nanoseconds compute;       ///< of its nodes
  Nanoseconds transfer;      ///< waits for tensors and orders from other devices, before its nodes
  std::int64_t nodes;
  std::int64_t queued;       ///< nodes of it that were ready, but waited for their busy device
};

/// The whole chain: `compute + transfer` is the makespan.
struct ChainSummary {
  Nanoseconds compute = 0, transfer = 0;
  std::int64_t nodes = 0, queued = 0, device_changes = 0;
  std::vector<ChainPart> parts;
  /// Components of the module names of `parts`.
  int depth = 0;
};

/// Modules are as deep as `limit` parts allow, one component at least: then there may be more. O(V + edges into the chain + depth * chain).
ChainSummary summarize_chain(const EmulatedRun& run, std::size_t limit);

}  // namespace pardnn
