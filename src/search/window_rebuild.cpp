#include "search/window_rebuild.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "construct/list_scheduler.hpp"
#include "search/cooling.hpp"

namespace pardnn {
namespace {

constexpr std::uint64_t kStage = 0x77696e646f77;  // "window"
/// Widths of windows: the makespan over these.
constexpr std::int64_t kParts[] = {64, 32, 16, 8, 5, 3};

class WindowRebuild {
 public:
  WindowRebuild(Judge& judge, Candidate start, const RebuildOptions& options)
      : judge_(judge), graph_(judge.costs().graph()), options_(options), random_(options.seed, kStage), best_(std::move(start)),
        ordered_(judge.policy() == Policy::priority) {}

  Candidate run() {
    if (graph_.num_nodes() == 0 || judge_.costs().num_devices() == 1) return std::move(best_);
    judge_.score(best_.device, best_.priority);
    look_at_run();
    for (std::int64_t run = 0; run < options_.runs && !is_done(); ++run) rebuild();
    return std::move(best_);
  }

 private:
  bool is_done() const {
    return (best_.score.feasible() && best_.score.makespan <= options_.good_enough) ||
           (options_.should_stop && options_.should_stop());
  }

  void look_at_run() {
    start_ = judge_.schedule().start;
    makespan_ = judge_.schedule().makespan;
    if (!ordered_) return;
    // EIL dispatches by these: the order of the current run, but for what is placed anew.
    order_.resize(start_.size());
    Nanoseconds left = graph_.num_nodes();
    for (const NodeId v : judge_.schedule().start_order) order_[v] = left--;
  }

  void rebuild() {
    const std::int64_t part = kParts[random_.below(std::size(kParts))];
    const Nanoseconds width = std::max<Nanoseconds>(makespan_ / part, 1);
    const Nanoseconds from = random_.below(makespan_ + width) - width;
    free_window(from, from + width);
    const Constructed built = construct_list(judge_.costs(), vary());
    Score score;
    const std::span<const std::int64_t> priority = ordered_ ? std::span<const std::int64_t>(built.priority) : std::span<const std::int64_t>();
    if (!judge_.score_within(built.device, priority, best_.score, score) || best_.score < score) return;
    best_.device = built.device;
    if (ordered_) best_.priority = built.priority;
    best_.score = score;
    look_at_run();
  }

  /// given_ is the current placement without the units that start in [from, to); of those that also start elsewhere, half. O(V).
  void free_window(Nanoseconds from, Nanoseconds to) {
    given_ = best_.device;
    decided_.assign(static_cast<std::size_t>(graph_.num_units()), 0);
    const auto inside = [&](NodeId v) { return start_[v] >= from && start_[v] < to; };
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

  ListOptions vary() {
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
    if (ordered_) {
      options.dispatch = Dispatch::bottom_level;
      options.bottom_levels = order_;
    }
    options.given = given_;
    return options;
  }

  Judge& judge_;
  const Graph& graph_;
  const RebuildOptions& options_;
  RandomStream random_;
  Candidate best_;
  bool ordered_;
  Nanoseconds makespan_ = 0;
  std::vector<Nanoseconds> start_, order_;
  std::vector<DeviceId> given_;
  std::vector<char> decided_;  ///< by unit, for one window
};

}  // namespace

Candidate rebuild_windows(Judge& judge, Candidate start, const RebuildOptions& options) {
  return WindowRebuild(judge, std::move(start), options).run();
}

}  // namespace pardnn
