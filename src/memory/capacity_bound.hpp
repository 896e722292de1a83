/// Proofs that no placement at all fits, and the least memory that devices must have.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pardnn/graph.hpp"
#include "pardnn/machine.hpp"

namespace pardnn {

/// Nothing runs on devices of equal capacity below `per_device_equal` (headroom included), as many as the machine has, in any order.
struct CapacityBound {
  Bytes per_device_equal = 0;
  /// One line; empty where nothing needs memory.
  std::string why;
};

struct CapacityVerdict {
  /// Why nothing fits the machine, in one line. Nothing: unknown.
  std::optional<std::string> proof;
  CapacityBound bound;
};

/// Nodes and edges that the search for the greatest cut may visit.
inline constexpr std::int64_t kCapacityVisits = 30'000'000;

/// What all placements need, of which each is a proof where the machine has less:
/// - all residuals, and what is live while one node runs (live_cut.hpp), against all usable memory together;
/// - on one device: the residuals of a unit, or of all units pinned there, with what one running node of it needs (its
///   inputs, output and workspace), or with what is live because of the unit's members;
/// - pieces that cannot be split, against the number of devices (bin_packing.hpp): residuals of a unit, a running node
///   with all it needs, and each buffer that is live meanwhile; or residuals of units, of which each also needs so much for a
///   running node of its own, which a device must have beside all its residuals.
/// O(visits + V log V + E log degree + K).
CapacityVerdict capacity_verdict(const Graph& graph, const Machine& machine, std::int64_t visits = kCapacityVisits);

/// The proof alone.
std::optional<std::string> proof_that_nothing_fits(const Graph& graph, const Machine& machine);

}  // namespace pardnn
