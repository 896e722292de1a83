/// Judges candidates by the emulated run and its memory: the only measure that the search trusts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "emulation/emulator.hpp"
#include "judge/score.hpp"
#include "memory/memory_profile.hpp"

namespace pardnn {

/// Keeps working memory between calls: one per thread.
class Judge {
 public:
  Judge(const CostModel& costs, Policy policy);

  /// Emulates and tracks. O((V + E) log V).
  Score score(std::span<const DeviceId> device, std::span<const std::int64_t> priority = {});

  /// The same, if the makespan is at most `latest`; false as soon as it certainly is not (score unset).
  bool score_within_makespan(std::span<const DeviceId> device, std::span<const std::int64_t> priority, Nanoseconds latest,
                             Score& score);
  /// The same, if the score is better than or equal to `limit`; false as soon as it certainly is not (score unset).
  bool score_within(std::span<const DeviceId> device, std::span<const std::int64_t> priority, const Score& limit, Score& score);

  /// Of the last placement that was scored to its end.
  const Schedule& schedule() const { return emulator_.schedule(); }
  const MemoryPeaks& peaks() const { return peaks_; }
  std::span<const Nanoseconds> delivered() const { return emulator_.delivered(); }
  std::span<const Nanoseconds> ready() const { return emulator_.ready(); }
  MemoryTracker& tracker() { return tracker_; }

  const CostModel& costs() const { return *costs_; }
  Policy policy() const { return policy_; }
  Bytes usable(DeviceId d) const { return usable_[d]; }
  /// False if no placement can overflow any device: memory is not tracked then.
  bool memory_matters() const { return memory_matters_; }
  /// Placements judged so far: the unit in which budgets are counted.
  std::int64_t runs() const { return runs_; }

 private:
  Score track(std::span<const DeviceId> device);

  const CostModel* costs_;
  Policy policy_;
  Emulator emulator_;
  MemoryTracker tracker_;
  MemoryPeaks peaks_;
  std::vector<Bytes> usable_;
  std::vector<Nanoseconds> tail_;  // least time from a node's start to the end of the run
  bool memory_matters_;
  std::int64_t runs_ = 0;
};

}  // namespace pardnn
