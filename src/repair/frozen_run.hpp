/// What moves would do to memory if they changed no times: an estimate that costs a few range updates a move.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "judge/judge.hpp"
#include "memory/buffer_members.hpp"
#include "repair/held_over_time.hpp"

namespace pardnn {

/// One emulated run with its times held fast, in which nodes change devices. Buffers, copies and workspace follow model.md, with deliveries as
/// under Links::free. Exact for the run itself up to a constant per device, which is taken off, if its times are no more than the slots;
/// else a holding counts for whole slots.
class FrozenRun {
 public:
  /// Keeps a reference to `costs`. O(V).
  explicit FrozenRun(const CostModel& costs);

  /// Takes over the run that `judge` judged last, which must be of `device`. O((V + E) log V + K slots).
  void freeze(const Judge& judge, std::span<const DeviceId> device);

  /// Nodes (whole units, all on one device) go to `to`. O(degree log slots) for them and their inputs.
  void move(std::span<const NodeId> nodes, DeviceId to);
  /// Takes the last move that is not taken back yet back. O(what it changed log slots).
  void undo();

  const std::vector<DeviceId>& device() const { return device_; }
  /// By how many bytes d is above its usable memory at its greatest; negative: room.
  Bytes excess(DeviceId d) const { return held_[d].greatest() - limit_[d]; }
  /// Sum over devices of what is above usable memory. O(1) after each move.
  Bytes overflow() const { return overflow_; }
  std::int64_t peak_slot(DeviceId d) const { return held_[d].first_greatest(); }
  Bytes excess_at(DeviceId d, std::int64_t slot) const { return held_[d].at(slot) - limit_[d]; }
  /// A time in the slot.
  Nanoseconds time_of(std::int64_t slot) const { return times_[slot]; }
  /// Nodes, edges and updates looked at since freeze: what it cost.
  std::int64_t visits() const { return visits_; }
  /// Counts what its user looks at besides.
  void add_visits(std::int64_t visits) { visits_ += visits; }

 private:
  struct Change {
    DeviceId device;
    std::int64_t first, last;
    Bytes bytes;
    bool is_undone_by(const Change& other) const {
      return device == other.device && first == other.first && last == other.last && bytes == -other.bytes;
    }
  };
  struct Step {
    DeviceId from;
    std::size_t log_begin, moved_begin;
  };
  struct Copy {
    DeviceId to;
    std::int32_t output;
    Bytes bytes;
    NodeId user;  // the consumer that ends last
  };

  void choose_slots(const Schedule& schedule);
  std::int64_t slot_of(Nanoseconds time) const;
  std::int64_t last_before(Nanoseconds time) const;
  void hold_all(std::vector<std::vector<Bytes>>& change);
  void touch(NodeId root);
  /// Calls hold(device, first slot, last slot, bytes) for a root's buffer and all its copies.
  template <typename Hold>
  void hold_root(NodeId root, Hold&& hold);
  template <typename Hold>
  void hold_copies(NodeId member, Hold&& hold);
  void hold_touched(Bytes sign);
  void cancel(std::size_t taken, std::size_t given);
  void apply(const Change& change);

  const CostModel* costs_;
  const Graph* graph_;
  BufferMembers members_;
  std::vector<DeviceId> device_;
  std::vector<Nanoseconds> finish_, times_;               // times_: where slots begin
  std::vector<std::int64_t> start_slot_, finish_slot_, until_slot_;  // by node; until: the last slot before its end
  std::vector<HeldOverTime> held_;                        // by device
  std::vector<Bytes> limit_;
  Bytes overflow_ = 0;
  std::vector<Copy> copies_;
  std::vector<NodeId> roots_;                             // touched by the move
  std::vector<std::uint32_t> stamp_;                      // by root
  std::uint32_t epoch_ = 0;
  std::vector<Step> steps_;
  std::vector<Change> log_;                               // of all steps
  std::vector<NodeId> moved_;
  std::int64_t visits_ = 0;
};

}  // namespace pardnn
