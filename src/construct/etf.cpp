#include "construct/etf.hpp"

#include <algorithm>
#include <memory>

#include "construct/device_classes.hpp"
#include "construct/favourite_child.hpp"
#include "construct/flat_heap.hpp"
#include "construct/list_order.hpp"
#include "construct/list_state.hpp"
#include "construct/memory_ledger.hpp"

namespace pardnn {
namespace {


struct Arrival {
  Nanoseconds ready;
  std::int64_t rank;
  bool operator>(const Arrival& other) const { return ready != other.ready ? ready > other.ready : rank > other.rank; }
};

/// Ready nodes as one device, or one class of devices, sees them.
struct Waiting {
  FlatHeap<std::int64_t> here;  ///< ranks of nodes whose inputs are there
  FlatHeap<Arrival> coming;     ///< nodes whose inputs are still on their way
};

class Etf {
 public:
  Etf(const CostModel& costs, const ListOptions& options)
      : state_(costs, options),
        order_(options.order != nullptr ? *options.order : own_order_),
        classes_(device_classes(costs.machine(), state_.devices())),
        own_(costs.num_devices()),
        shared_(classes_.members.size()),
        free_(costs.num_devices(), 0),
        inputs_(costs.num_devices()) {
    const Graph& graph = costs.graph();
    if (options.order == nullptr) own_order_ = list_order(costs, options.bottom_levels);
    waiting_.resize(graph.num_nodes());
    open_.assign(graph.num_nodes(), 0);
    unit_moved_.assign(graph.num_units(), 0);
    if (options.favourite_children) favourite_ = favourite_children(costs);
    promised_.assign(costs.num_devices(), {});
    if (!options.budget.empty()) start_ledger(options.budget);
    for (NodeId v = 0; v < graph.num_nodes(); ++v) waiting_[v] = state_.num_awaited(v);
    for (NodeId v = 0; v < graph.num_nodes(); ++v) {
      if (waiting_[v] == 0 && !state_.is_lazy(v)) open(v);
    }
  }

  Constructed run() {
    for (Pair next = earliest(); next.rank >= 0; next = earliest()) {
      const NodeId v = order_.node[next.rank];
      if (ledger_) advance_ledger(next.start);
      plan(v, ledger_ ? device_that_fits(v, next.device) : next.device);
      const Graph& graph = state_.graph();
      for (EdgeId e = graph.out_begin(v); e < graph.out_end(v); ++e) {
        if (--waiting_[graph.target(e)] == 0) open(graph.target(e));
      }
    }
    state_.settle_rest();
    return state_.result();
  }

 private:
  struct Pair {
    Nanoseconds start = kNever;
    std::int64_t rank = -1;
    DeviceId device = kNoDevice;
    bool before(const Pair& other) const {
      if (start != other.start) return start < other.start;
      return rank != other.rank ? rank < other.rank : device < other.device;
    }
  };

  /// v's predecessors are planned: enters v where it may run.
  void open(NodeId v) {
    open_[v] = 1;
    const std::int64_t rank = order_.rank[v];
    if (const DeviceId given = state_.device(v); given != kNoDevice) {
      own_[given].coming.push({state_.inputs_ready(v, given), rank});
      return;
    }
    state_.weighted_inputs(v, inputs_);
    for (std::size_t c = 0; c < classes_.members.size(); ++c) {
      Nanoseconds most = 0;
      for (const DeviceId d : classes_.members[c]) most = std::max(most, inputs_[d]);
      shared_[c].coming.push({most, rank});
      for (const DeviceId d : classes_.members[c]) {
        if (inputs_[d] < most) own_[d].coming.push({inputs_[d], rank});
      }
    }
  }

  bool is_stale_own(std::int64_t rank, DeviceId d) const {
    const NodeId v = order_.node[rank];
    return state_.is_planned(v) || (state_.device(v) != kNoDevice && state_.device(v) != d);
  }
  bool is_stale_shared(std::int64_t rank) const {
    const NodeId v = order_.node[rank];
    return state_.is_planned(v) || state_.device(v) != kNoDevice;
  }

  /// The earliest start among the nodes of `waiting`, if the device is free from `free` on; start is kNever if there is none.
  template <typename Stale>
  Pair first_of(Waiting& waiting, Nanoseconds free, const Stale& stale) const {
    while (!waiting.coming.empty()) {
      const Arrival top = waiting.coming.top();
      if (stale(top.rank)) {
        waiting.coming.pop();
      } else if (top.ready <= free) {
        waiting.coming.pop();
        waiting.here.push(top.rank);
      } else {
        break;
      }
    }
    while (!waiting.here.empty() && stale(waiting.here.top())) waiting.here.pop();
    if (!waiting.here.empty()) return {free, waiting.here.top(), kNoDevice};
    if (!waiting.coming.empty()) return {waiting.coming.top().ready, waiting.coming.top().rank, kNoDevice};
    return {};
  }

  /// A favourite child that device d keeps itself free for, until it could as well run elsewhere.
  struct Promise {
    NodeId child = -1;
    Nanoseconds until = 0;
  };

  bool keeps(DeviceId d) const {
    const NodeId child = promised_[d].child;
    return child >= 0 && !state_.is_planned(child) && (state_.device(child) == kNoDevice || state_.device(child) == d);
  }
  /// From when on d takes nodes that it has promised nothing.
  Nanoseconds free_for_all(DeviceId d) const { return keeps(d) ? std::max(free_[d], promised_[d].until) : free_[d]; }

  void promise(NodeId v, DeviceId d) {
    promised_[d] = {};
    if (favourite_.empty() || favourite_[v] < 0) return;
    const EdgeId e = favourite_[v];
    promised_[d] = {state_.graph().target(e), state_.finish(v) + state_.costs().mean_cost(e)};
  }

  Pair earliest() {
    Pair best;
    for (DeviceId d = 0; d < state_.num_devices(); ++d) {
      if (keeps(d) && open_[promised_[d].child] != 0) {
        const NodeId child = promised_[d].child;
        const Pair kept{std::max(free_[d], state_.inputs_ready(child, d)), order_.rank[child], d};
        if (kept.before(best)) best = kept;
      }
      Pair pair = first_of(own_[d], free_for_all(d), [this, d](std::int64_t rank) { return is_stale_own(rank, d); });
      pair.device = d;
      if (pair.rank >= 0 && pair.before(best)) best = pair;
    }
    for (std::size_t c = 0; c < shared_.size(); ++c) {
      Nanoseconds free = kNever;
      for (const DeviceId d : classes_.members[c]) free = std::min(free, free_for_all(d));
      Pair pair = first_of(shared_[c], free, [this](std::int64_t rank) { return is_stale_shared(rank); });
      if (pair.rank < 0) continue;
      for (const DeviceId d : classes_.members[c]) {
        if (free_for_all(d) > pair.start) continue;
        pair.device = d;
        break;
      }
      if (pair.before(best)) best = pair;
    }
    return best;
  }

  void plan(NodeId v, DeviceId d) {
    const bool first_of_unit = state_.give_device(v, d);
    if (first_of_unit) move_unit(v, d);
    settled_.clear();
    state_.settle_inputs(v, d, settled_);
    if (ledger_) {
      for (const NodeId u : settled_) {
        ledger_->place(u, state_.device(u), state_.unit_devices(), state_.finishes(), state_.finish(u));
        ledger_->end(u, state_.device(u), state_.unit_devices());
      }
    }
    for (const NodeId u : settled_) move_unit(u, state_.device(u));
    // Scaled transfers, or lazy inputs that came along, may have moved the true time of the inputs.
    const Nanoseconds start = std::max(free_[d], state_.inputs_ready(v, d));
    free_[d] = start + state_.costs().duration(v, d);
    state_.set_times(v, start, free_[d]);
    promise(v, d);
    if (!ledger_) return;
    ledger_->place(v, d, state_.unit_devices(), state_.finishes(), start);
    running_[d].push_back(v);
  }

  /// v's unit has just got device d: its nodes that wait for any device wait for d alone.
  void move_unit(NodeId v, DeviceId d) {
    const Graph& graph = state_.graph();
    if (graph.units_are_nodes() || unit_moved_[graph.unit(v)] != 0) return;
    unit_moved_[graph.unit(v)] = 1;
    for (const NodeId w : graph.unit_nodes(graph.unit(v))) {
      if (w == v || open_[w] == 0 || state_.is_planned(w)) continue;
      own_[d].coming.push({state_.inputs_ready(w, d), order_.rank[w]});
    }
  }

  void start_ledger(const std::vector<Bytes>& budget) {
    ledger_ = std::make_unique<MemoryLedger>(state_.costs(), budget);
    running_.resize(budget.size());
    ended_.assign(budget.size(), 0);
    over_.resize(budget.size());
    for (UnitId u = 0; u < state_.graph().num_units(); ++u) {
      const DeviceId d = state_.unit_devices()[u];
      if (d != kNoDevice) ledger_->charge_unit(u, d);
    }
  }

  void advance_ledger(Nanoseconds now) {
    for (DeviceId d = 0; d < state_.num_devices(); ++d) {
      for (; ended_[d] < running_[d].size() && state_.finish(running_[d][ended_[d]]) <= now; ++ended_[d]) {
        ledger_->end(running_[d][ended_[d]], d, state_.unit_devices());
      }
    }
  }

  /// `wanted` if v fits there or has its device already, else the device with the earliest start among those where it fits, else that with the
  /// least overflow.
  DeviceId device_that_fits(NodeId v, DeviceId wanted) {
    if (state_.device(v) != kNoDevice) return wanted;
    ledger_->assess(v, state_.unit_devices(), state_.finishes(), over_);
    if (over_[wanted] == 0) return wanted;
    state_.weighted_inputs(v, inputs_);
    DeviceId best = wanted;
    for (const DeviceId d : state_.devices()) {
      const Nanoseconds start = std::max(free_[d], inputs_[d]), best_start = std::max(free_[best], inputs_[best]);
      if (over_[d] < over_[best] || (over_[d] == over_[best] && start < best_start)) best = d;
    }
    return best;
  }

  ListState state_;
  ListOrder own_order_;
  const ListOrder& order_;
  DeviceClasses classes_;
  std::vector<std::int64_t> waiting_;
  std::vector<char> open_;
  std::vector<char> unit_moved_;
  std::vector<Waiting> own_;     // by device
  std::vector<Waiting> shared_;  // by class
  std::vector<Nanoseconds> free_;
  std::vector<EdgeId> favourite_;  // by node: the edge to its favourite child, -1; empty: not asked for
  std::vector<Promise> promised_;  // by device
  std::vector<Nanoseconds> inputs_;
  std::vector<NodeId> settled_;
  std::unique_ptr<MemoryLedger> ledger_;
  std::vector<std::vector<NodeId>> running_;
  std::vector<std::size_t> ended_;
  std::vector<Bytes> over_;
};

}  // namespace

Constructed etf(const CostModel& costs, const ListOptions& options) { return Etf(costs, options).run(); }

}  // namespace pardnn
