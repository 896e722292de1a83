/// The whole pipeline in one call.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pardnn/emulate.hpp"
#include "pardnn/graph.hpp"
#include "pardnn/machine.hpp"
#include "pardnn/options.hpp"
#include "pardnn/placement.hpp"

namespace pardnn {

struct Result {
  Placement placement;
  Schedule schedule;
  Evaluation evaluation;
  /// Which start and which improvements gave it.
  std::string method;
  /// The seed that led to it.
  std::uint64_t best_seed = 0;
  std::vector<StageTime> stages;
  /// Smallest equal per-device capacity (same headroom) for which this placement would fit.
  Bytes capacity_needed = 0;
  /// Proven: no placement at all fits. `proof` says why.
  bool cannot_fit = false;
  std::string proof;
  /// Proven: no placement fits equal devices of less capacity than this (same headroom). 0: no device can overflow, not asked.
  Bytes capacity_bound = 0;
  std::vector<std::string> warnings;
};

/// Places `graph` on `machine`. Deterministic in (graph, machine, preset, seed, seeds, policy), whatever the threads.
/// Throws InputError (a node pinned to a device that does not exist, sums past 2^62). "Does not fit" is an answer: see Result.
Result partition(const Graph& graph, const Machine& machine, const Options& options);

}  // namespace pardnn
