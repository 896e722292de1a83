#include "search/window_rebuild.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "construct/list_order.hpp"
#include "construct/list_scheduler.hpp"
#include "parallel/in_order.hpp"
#include "search/cooling.hpp"

namespace pardnn {
namespace {

constexpr std::uint64_t kStage = 0x77696e646f77;  // "window"
/// Widths of windows: the makespan over these.
constexpr std::int64_t kParts[] = {64, 32, 16, 8, 5, 3};

/// The candidate that windows are rebuilt of, and its run.
struct Base {
  Candidate candidate;
  Nanoseconds makespan = 0;
  std::vector<Nanoseconds> start;
  /// What EIL ranks by. Under Policy::priority it dispatches by it: the order of the run, but for what is placed anew.
  std::shared_ptr<const ListOrder> order;
};

/// One window, by one thread.
class Rebuilder {
 public:
  /// `unplaced`: the order by bottom levels, under Policy::fifo.
  Rebuilder(const CostModel& costs, Policy policy, std::shared_ptr<const ListOrder> unplaced)
      : graph_(costs.graph()), judge_(costs, policy), unplaced_(std::move(unplaced)) {}

  /// The run of `candidate`, whose score is known.
  Base look_at(Candidate candidate) {
    judge_.score(candidate.device, candidate.priority);
    return look_at_judged(std::move(candidate));
  }

  /// Rebuild number `run`; nothing if the result is worse than the base. It depends on base, seed and run alone.
  std::optional<Base> rebuild(const Base& base, std::uint64_t seed, std::int64_t run) {
    random_ = RandomStream(seed, kStage + static_cast<std::uint64_t>(run));
    const bool ordered = judge_.policy() == Policy::priority;
    const std::int64_t part = kParts[random_.below(std::size(kParts))];
    const Nanoseconds width = std::max<Nanoseconds>(base.makespan / part, 1);
    const Nanoseconds from = random_.below(base.makespan + width) - width;
    free_window(base, from, from + width);
    Constructed built = construct_list(judge_.costs(), vary(base, ordered));
    Candidate rebuilt;
    if (ordered) rebuilt.priority = std::move(built.priority);
    if (!judge_.score_within(built.device, rebuilt.priority, base.candidate.score, rebuilt.score)) return {};
    rebuilt.device = std::move(built.device);
    rebuilt.origin = base.candidate.origin;
    return look_at_judged(std::move(rebuilt));
  }

 private:
  Base look_at_judged(Candidate candidate) const {
    const Schedule& schedule = judge_.schedule();
    Base base{std::move(candidate), schedule.makespan, schedule.start, unplaced_};
    if (judge_.policy() == Policy::fifo) return base;
    ListOrder order{std::vector<std::int64_t>(base.start.size()), schedule.start_order};
    for (std::size_t r = 0; r < order.node.size(); ++r) order.rank[order.node[r]] = static_cast<std::int64_t>(r);
    base.order = std::make_shared<const ListOrder>(std::move(order));
    return base;
  }

  /// given_ is the base's placement without the units that start in [from, to); of those that also start elsewhere, half. O(V).
  void free_window(const Base& base, Nanoseconds from, Nanoseconds to) {
    given_ = base.candidate.device;
    decided_.assign(static_cast<std::size_t>(graph_.num_units()), 0);
    const auto inside = [&](NodeId v) { return base.start[v] >= from && base.start[v] < to; };
    for (NodeId v = 0; v < graph_.num_nodes(); ++v) {
      const UnitId u = graph_.unit(v);
      if (!inside(v) || decided_[u] != 0 || graph_.unit_fixed(u) != kNoDevice) continue;
      decided_[u] = 1;
      const auto unit = graph_.unit_nodes(u);
      const bool whole = std::all_of(unit.begin(), unit.end(), [&](NodeId w) { return inside(w) || (graph_.comp(w) == 0 && graph_.in_degree(w) == 0); });
      if (!whole && random_.chance(50)) continue;
      for (const NodeId w : unit) given_[w] = kNoDevice;
    }
  }

  ListOptions vary(const Base& base, bool ordered) {
    ListOptions options;
    options.lazy_sources = true;
    options.settle_again = false;
    options.reserve = random_.below(4) * kOne / 2 + kOne / 2;
    options.comm_weight = kOne / 2 + random_.below(4) * kOne / 2;
    options.co_inputs = random_.chance(50) ? kOne / 2 : 0;
    options.device_ties = random_.chance(50) ? DeviceTies::latest_input : DeviceTies::lower_index;
    options.queue_estimate = random_.chance(30) ? QueueEstimate::plan : QueueEstimate::work;
    options.ports = judge_.costs().machine().links == Links::ports;
    if (options.ports) {
      const Millionths prices[] = {0, 300'000, 1'000'000, 10'000'000};
      options.port_price = prices[random_.below(4)];
    }
    options.order = base.order.get();
    options.plan_order = ordered;
    if (ordered) options.dispatch = Dispatch::bottom_level;
    options.given = given_;
    return options;
  }

  const Graph& graph_;
  Judge judge_;
  std::shared_ptr<const ListOrder> unplaced_;
  RandomStream random_{0, 0};
  std::vector<DeviceId> given_;
  std::vector<char> decided_;  ///< by unit, for one window
};

}  // namespace

Candidate rebuild_windows(Judge& judge, Candidate start, const RebuildOptions& options) {
  const CostModel& costs = judge.costs();
  if (costs.graph().num_nodes() == 0 || costs.num_devices() == 1) return start;
  Spares<Rebuilder> spares;
  std::shared_ptr<const ListOrder> unplaced;
  if (judge.policy() == Policy::fifo) unplaced = std::make_shared<const ListOrder>(list_order(costs, {}));
  const auto create = [&] { return std::make_unique<Rebuilder>(costs, judge.policy(), unplaced); };
  const auto is_stopped = [&] { return options.should_stop && options.should_stop(); };
  Base base = spares.lend(create)->look_at(std::move(start));
  const auto is_done = [&] { return (base.candidate.score.feasible() && base.candidate.score.makespan <= options.good_enough) || is_stopped(); };
  // Threads rebuild windows of one base, as if none of them would be taken; once one is, what was made after it is dropped and made again.
  for (std::int64_t run = 0; run < options.runs && !is_done();) {
    std::optional<Base> better;
    const std::int64_t first = run;
    make_in_order(
        options.runs - first, options.threads,
        [&](std::int64_t i) -> std::optional<Base> {
          if (is_stopped()) return {};
          return spares.lend(create)->rebuild(base, options.seed, first + i);
        },
        [&](std::int64_t, std::optional<Base> rebuilt) {
          ++run;
          better = std::move(rebuilt);
          return !better && !is_stopped();
        });
    if (better) base = std::move(*better);
  }
  return std::move(base.candidate);
}

}  // namespace pardnn
