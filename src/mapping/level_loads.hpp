/// Work of each device over any span of levels (paper, Algorithm 2, line 11).
#pragma once

#include <span>
#include <vector>

#include "costs/cost_model.hpp"
#include "mapping/fenwick_tree.hpp"
#include "mapping/level_index.hpp"

namespace pardnn {

/// One Fenwick tree per device over blocks of kBlock neighbouring positions; the ends of a span inside a block are
/// summed one by one. So a query touches a few kilobytes that stay in cache, instead of K trees with an entry per level.
class LevelLoads {
 public:
  /// No work anywhere yet. `costs` and `index` must outlive it. O(V + V K / kBlock).
  LevelLoads(const CostModel& costs, const LevelIndex& index);

  /// v (which must be nowhere) works on d from now on. O(log V).
  void add(NodeId v, DeviceId d);
  /// v is nowhere again. O(log V).
  void remove(NodeId v);
  /// The device of v; kNoDevice if it is nowhere.
  DeviceId device(NodeId v) const { return device_at_[index_->position(v)]; }
  /// loads[d] = ns of work on d of the nodes in `range`. O(K log V + kBlock).
  void loads(LevelRange range, std::span<Nanoseconds> loads) const;

 private:
  static constexpr std::int64_t kBlock = 32;
  void add_positions(std::int64_t from, std::int64_t to, int sign, std::span<Nanoseconds> loads) const;

  const CostModel* costs_;
  const LevelIndex* index_;
  FenwickTree<Nanoseconds> blocks_;
  std::vector<DeviceId> device_at_;    // by position
  std::vector<Nanoseconds> work_at_;   // by position: duration on that device
};

}  // namespace pardnn
