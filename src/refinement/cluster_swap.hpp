/// Refinement by swapping secondary clusters (paper, Step 1, first refinement policy; NOTES 5).
#pragma once

#include <vector>

#include "mapping/level_index.hpp"
#include "slicing/clustering.hpp"

namespace pardnn {

/// The device of each cluster after swaps. Heaviest cluster first, a secondary changes places with the secondary in its
/// span that improves the placement most, if any does; each swaps at most once. Pinned clusters stay. What improves: the
/// work of the busier of both devices, within both spans, plus the communication of both clusters with other devices. A swap
/// that trades one for the other is refused: measured on 38 graphs (K = 4), accepting those made the emulated run 1 % longer instead of 1 %
/// shorter.
///
/// A cluster looks only at devices that have less work in its span or with which it communicates more, and at no more than
/// kSwapCandidates clusters, those that start nearest to it: O(kSwapCandidates (V + E + clusters K log V) + V log V).
std::vector<DeviceId> swap_clusters(const CostModel& costs, const Clustering& clustering, const LevelIndex& index,
                                    std::vector<DeviceId> device_of_cluster);

inline constexpr std::int64_t kSwapCandidates = 8;

}  // namespace pardnn
