/// Refinement by swapping secondary clusters (paper, Step 1, first refinement policy; NOTES 5).
#pragma once

#include <vector>

#include "mapping/level_index.hpp"
#include "slicing/clustering.hpp"

namespace pardnn {

/// The device of each cluster after swaps. Heaviest cluster first, a secondary changes places with the secondary in its span that
/// lowers the sum of both clusters' Eqn 1 values most, if any does; each swaps at most once. Pinned clusters stay.
///
/// A cluster looks only at devices where its own Eqn 1 value is lower than at home, and at no more than kSwapCandidates
/// clusters, those that start nearest to it, so that wide graphs cost O(kSwapCandidates (V + E + clusters K log V)) at most.
std::vector<DeviceId> swap_clusters(const CostModel& costs, const Clustering& clustering, const LevelIndex& index,
                                    std::vector<DeviceId> device_of_cluster);

inline constexpr std::int64_t kSwapCandidates = 8;

}  // namespace pardnn
