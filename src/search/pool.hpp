/// The best candidates so far, judged as they come.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "construct/constructed.hpp"
#include "judge/judge.hpp"
#include "search/candidate.hpp"
#include "search/overfull_front.hpp"
#include "search/start_judge.hpp"

namespace pardnn {

/// Keeps the `capacity` best distinct candidates in order, best first; earlier ones first among equals. Beside them, those that do not
/// fit but are shorter than the best that does (overfull_front.hpp).
class Pool {
 public:
  Pool(Judge& judge, std::size_t capacity)
      : judge_(judge), starts_(judge), capacity_(capacity), overfull_(capacity == 1 ? 3 : 4 * capacity, capacity == 1 ? 1 : 2) {}

  /// Judges and keeps, unless the pool is full of shorter ones that fit: such a run is not emulated to its end. Under Policy::priority the constructor's planned order is tried beside the default priorities.
  void add(Constructed constructed, const std::string& origin);
  void add(std::vector<DeviceId> device, const std::string& origin);
  /// From now on placements that are added are also tried in the order of their run under fifo. Policy::priority only; one more emulation each.
  void try_fifo_orders() { starts_.try_fifo_orders(); }
  bool tries_fifo_orders() const { return starts_.tries_fifo_orders(); }
  /// Keeps a candidate that has its score.
  void keep(Candidate candidate);
  /// From now on `on_best` is told of each candidate that becomes the best; may be empty.
  void tell_best(std::function<void(const Candidate&)> on_best) { on_best_ = std::move(on_best); }

  /// True if a candidate came that would have the least makespan if it fitted: memory decides.
  bool is_tight() const { return !candidates_.empty() && (!best().score.feasible() || least_unfit_ < best().score.makespan); }

  bool empty() const { return candidates_.empty(); }
  const Candidate& best() const { return candidates_.front(); }
  std::vector<Candidate>& candidates() { return candidates_; }
  /// True if something that does not fit is shorter than all that does.
  bool has_overfull() const { return !overfull_.empty(); }
  /// Those candidates, which the pool then forgets, as far as they are not among its best.
  std::vector<Candidate> take_overfull();
  Judge& judge() { return judge_; }
  StartJudge& start_judge() { return starts_; }
  /// A longer run is of no use; kNever while there is room.
  Nanoseconds latest() const;

 private:
  Judge& judge_;
  StartJudge starts_;
  std::size_t capacity_;
  std::vector<Candidate> candidates_;
  Nanoseconds least_unfit_ = kSumLimit;  // makespan of those that do not fit
  std::function<void(const Candidate&)> on_best_;
  OverfullFront overfull_;
};

}  // namespace pardnn
