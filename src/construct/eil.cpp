#include "construct/eil.hpp"

#include <algorithm>
#include <memory>
#include <span>

#include "construct/flat_heap.hpp"
#include "construct/list_order.hpp"
#include "construct/list_state.hpp"
#include "construct/memory_ledger.hpp"
#include "construct/port_plan.hpp"
#include "construct/reservations.hpp"

namespace pardnn {
namespace {

/// Look-ahead to other inputs of consumers skips nodes with more edges than this, so that it stays linear.
constexpr EdgeId kMaxFan = 16;

/// A placed node that waits to start. `key` orders those whose inputs are there under dispatch by bottom level.
struct Queued {
  Nanoseconds ready;
  std::int64_t key;
  NodeId node;
  bool operator>(const Queued& other) const {
    return ready != other.ready ? ready > other.ready : key > other.key;
  }
};

struct KeyedNode {
  std::int64_t key;
  NodeId node;
  bool operator>(const KeyedNode& other) const { return key > other.key; }
  bool operator<(const KeyedNode& other) const { return key < other.key; }
};

struct RunningDevice {
  FlatHeap<Queued> queue;       ///< under fifo: all that wait; else those whose inputs are still on their way
  FlatHeap<KeyedNode> here;     ///< dispatch by bottom level: nodes whose inputs are there
  NodeId running = -1;
  Nanoseconds next = kNever;    ///< end of the running node, or when an idle device can start one
  Nanoseconds until = 0;        ///< end of the last node that started
  Nanoseconds queued_work = 0;  ///< durations of all that wait
  Nanoseconds planned_end = 0;  ///< end of all decided so far, in order of decision
  Nanoseconds latest_ready = 0; ///< greatest ready time of a node decided so far
};

class Eil {
 public:
  Eil(const CostModel& costs, const ListOptions& options)
      : state_(costs, options),
        options_(options),
        fifo_(options.dispatch == Dispatch::fifo),
        devices_(costs.num_devices()),
        inputs_(costs.num_devices()),
        ahead_(costs.num_devices()),
        unsent_(costs.num_devices()) {
    const Graph& graph = costs.graph();
    if (!fifo_ || options.decide_first == DecideFirst::greater_bottom_level || options.reserve > 0) {
      if (options.order == nullptr) own_rank_ = list_order(costs, options.bottom_levels).rank;
      rank_ = options.order != nullptr ? options.order->rank : own_rank_;
    }
    waiting_.resize(graph.num_nodes());
    if (options.plan_order) started_.reserve(graph.num_nodes());
    for (NodeId v = 0; v < graph.num_nodes(); ++v) waiting_[v] = state_.num_awaited(v);
    if (!options.budget.empty()) start_ledger();
    if (options.ports) ports_ = std::make_unique<PortPlan>(state_, options_);
    if (options.reserve > 0) reservations_ = std::make_unique<Reservations>(state_, rank_, options_);
  }

  Constructed run() {
    const Graph& graph = state_.graph();
    for (NodeId v = 0; v < graph.num_nodes(); ++v) {
      if (waiting_[v] == 0 && !state_.is_lazy(v)) released_.push_back({decision_key(v), v});
    }
    decide_released(0);
    for (Nanoseconds now = next_event(); now != kNever; now = next_event()) {
      while (round(now)) {
      }
    }
    state_.settle_rest();
    Constructed plan = state_.result();
    // Without lazy nodes the run started every node itself: its own order replays it exactly, ties at one instant included.
    if (!state_.has_lazy() && options_.plan_order) {
      for (std::size_t r = 0; r < started_.size(); ++r) plan.priority[started_[r]] = -static_cast<std::int64_t>(r);
    }
    return plan;
  }

 private:
  std::int64_t decision_key(NodeId v) const {
    return options_.decide_first == DecideFirst::greater_bottom_level ? rank_[v] : state_.graph().file_id(v);
  }
  std::int64_t dispatch_key(NodeId v) const { return fifo_ ? state_.graph().file_id(v) : rank_[v]; }

  Nanoseconds next_event() const {
    Nanoseconds next = kNever;
    for (const RunningDevice& device : devices_) next = std::min(next, device.next);
    return next;
  }

  /// One round at `now`: nodes complete, those that they release choose their devices, idle devices start. True if another round is due.
  bool round(Nanoseconds now) {
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      if (devices_[d].running >= 0 && devices_[d].next == now) complete(static_cast<DeviceId>(d));
    }
    decide_released(now);
    bool again = false;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      RunningDevice& device = devices_[d];
      if (device.running < 0 && device.next <= now) again = start_head(static_cast<DeviceId>(d), now) || again;
    }
    return again;
  }

  void complete(DeviceId d) {
    const Graph& graph = state_.graph();
    const NodeId v = devices_[d].running;
    devices_[d].running = -1;
    update_next(d);
    if (ledger_) ledger_->end(v, d, state_.unit_devices());
    if (ports_) ports_->complete(v);
    for (EdgeId e = graph.out_begin(v); e < graph.out_end(v); ++e) {
      const NodeId w = graph.target(e);
      if (--waiting_[w] == 0) released_.push_back({decision_key(w), w});
    }
  }

  /// Starts the head of idle device d; true if it ends at once.
  bool start_head(DeviceId d, Nanoseconds now) {
    RunningDevice& device = devices_[d];
    NodeId v;
    if (fifo_) {
      v = device.queue.top().node;
      device.queue.pop();
    } else {
      for (; !device.queue.empty() && device.queue.top().ready <= now; device.queue.pop()) {
        device.here.push({device.queue.top().key, device.queue.top().node});
      }
      v = device.here.top().node;
      device.here.pop();
    }
    const Nanoseconds duration = state_.costs().duration(v, d);
    device.queued_work -= duration;
    device.running = v;
    device.next = device.until = now + duration;
    state_.set_times(v, now, now + duration);
    if (options_.plan_order) started_.push_back(v);
    return duration == 0;
  }

  void update_next(DeviceId d) {
    RunningDevice& device = devices_[d];
    if (device.running >= 0) return;
    device.next = !device.here.empty() ? device.until : device.queue.empty() ? kNever : std::max(device.until, device.queue.top().ready);
  }

  void decide_released(Nanoseconds now) {
    if (released_.size() > 1) std::sort(released_.begin(), released_.end());
    // Nothing is released while these are placed: every node in the list waits for none.
    for (const KeyedNode& released : released_) place(released.node, now);
    if (ports_) {
      ports_->send(now);
      for (const KeyedNode& released : released_) enqueue(released.node, ports_->inputs_ready(released.node));
    }
    released_.clear();
  }

  void place(NodeId v, Nanoseconds now) {
    DeviceId d = state_.device(v);
    if (d == kNoDevice) d = best_device(v, now);
    state_.give_device(v, d);
    settled_.clear();
    state_.settle_inputs(v, d, settled_);
    if (ledger_) charge(v, d, now);
    if (ports_) ports_->decide(v);
    RunningDevice& device = devices_[d];
    const Nanoseconds ready = ports_ ? ports_->expected_ready(v, now) : state_.inputs_ready(v, d);
    if (!ports_) enqueue(v, ready);
    const Nanoseconds duration = state_.costs().duration(v, d);
    device.queued_work += duration;
    device.planned_end = std::max(device.planned_end, ready) + duration;
    device.latest_ready = std::max(device.latest_ready, ready);
    if (reservations_) reservations_->reserve(v, d, std::max(now, device.until) + device.queued_work);
  }

  /// The inputs of v, which is placed, are there at `ready`.
  void enqueue(NodeId v, Nanoseconds ready) {
    const DeviceId d = state_.device(v);
    devices_[d].queue.push({ready, dispatch_key(v), v});
    update_next(d);
  }

  void charge(NodeId v, DeviceId d, Nanoseconds now) {
    for (const NodeId u : settled_) {
      ledger_->place(u, state_.device(u), state_.unit_devices(), state_.finishes(), now);
      ledger_->end(u, state_.device(u), state_.unit_devices());
    }
    ledger_->place(v, d, state_.unit_devices(), state_.finishes(), now);
  }

  /// Where v would finish first: inputs, the work queued before it, its duration, and what its placed consumers would wait for.
  DeviceId best_device(NodeId v, Nanoseconds now) {
    DeviceId last = state_.weighted_inputs(v, inputs_);
    if (ports_) ports_->raise_inputs(v, now, inputs_, unsent_);
    const bool ahead = options_.lookahead > 0 || options_.co_inputs > 0;
    if (ahead) std::fill(ahead_.begin(), ahead_.end(), 0);
    if (options_.lookahead > 0) look_ahead(v);
    if (options_.co_inputs > 0) look_beside(v);
    if (ledger_) ledger_->assess(v, state_.unit_devices(), state_.finishes(), over_);
    if (options_.device_ties == DeviceTies::lower_index) last = kNoDevice;
    if (ports_ && !options_.foreseen.empty()) last = options_.foreseen[v];
    const DeviceRange team = options_.teams.empty() ? DeviceRange{} : options_.teams[v];
    DeviceId best = kNoDevice;
    Nanoseconds best_score = 0;
    for (const DeviceId d : state_.devices()) {
      if (!team.empty() && !team.contains(d)) continue;
      const RunningDevice& device = devices_[d];
      const Nanoseconds free = free_for(device, inputs_[d], now);
      Nanoseconds score = std::max(free, inputs_[d]) + state_.costs().duration(v, d);
      if (reservations_) score = reservations_->charged_end({v, free, inputs_[d], score}, d);
      if (ahead) score += ahead_[d];
      if (ports_) score += ports_->charge(v, d, unsent_[d]);
      if (best != kNoDevice) {
        if (ledger_ && over_[d] != over_[best]) {
          if (over_[d] > over_[best]) continue;
        } else if (score > best_score || (score == best_score && d != last)) {
          continue;
        }
      }
      best = d;
      best_score = score;
    }
    return best != kNoDevice ? best : team.first;
  }

  /// When `device` will be done with what comes before a node that is ready at `ready`.
  Nanoseconds free_for(const RunningDevice& device, Nanoseconds ready, Nanoseconds now) const {
    const Nanoseconds work = std::max(now, device.until) + device.queued_work;
    // Nodes that get their inputs later than this one run after it: `plan` would count them in.
    return options_.queue_estimate == QueueEstimate::plan && ready >= device.latest_ready ? std::max(work, device.planned_end) : work;
  }

  /// ahead_[d] is at least what a consumer waits for if its other input, placed on q, is not on d: the cheaper of the two ways to join them.
  void look_beside(NodeId v) {
    const Graph& graph = state_.graph();
    if (graph.out_degree(v) > kMaxFan) return;
    for (EdgeId e = graph.out_begin(v); e < graph.out_end(v); ++e) {
      const NodeId w = graph.target(e);
      if (graph.in_degree(w) > kMaxFan) continue;
      for (EdgeId i = graph.in_begin(w); i < graph.in_end(w); ++i) {
        const DeviceId q = state_.device(graph.source(i));
        if (graph.source(i) == v || q == kNoDevice) continue;
        const Nanoseconds joined = ceil_mul_div(std::min(state_.costs().mean_cost(e), state_.costs().mean_cost(graph.in_edge(i))),
                                                options_.co_inputs, kOne);
        for (const DeviceId d : state_.devices()) {
          if (d != q) ahead_[d] = std::max(ahead_[d], joined);
        }
      }
    }
  }

  /// ahead_[d] = the costliest transfer from v on d to a consumer that has its device, times lookahead.
  void look_ahead(NodeId v) {
    const Graph& graph = state_.graph();
    if (graph.units_are_nodes() && options_.given.empty() && !graph.has_fixed()) return;
    for (EdgeId e = graph.out_begin(v); e < graph.out_end(v); ++e) {
      const DeviceId q = state_.device(graph.target(e));
      if (q == kNoDevice) continue;
      for (const DeviceId d : state_.devices()) ahead_[d] = std::max(ahead_[d], state_.costs().cost(e, d, q));
    }
    for (const DeviceId d : state_.devices()) ahead_[d] = ceil_mul_div(ahead_[d], options_.lookahead, kOne);
  }

  void start_ledger() {
    ledger_ = std::make_unique<MemoryLedger>(state_.costs(), options_.budget);
    over_.resize(options_.budget.size());
    for (UnitId u = 0; u < state_.graph().num_units(); ++u) {
      const DeviceId d = state_.unit_devices()[u];
      if (d != kNoDevice) ledger_->charge_unit(u, d);
    }
  }

  ListState state_;
  const ListOptions& options_;
  bool fifo_;
  std::vector<RunningDevice> devices_;
  std::vector<std::int64_t> own_rank_;
  std::span<const std::int64_t> rank_;
  std::vector<std::int64_t> waiting_;
  std::vector<KeyedNode> released_;
  std::vector<NodeId> started_;  // in the order in which they started
  std::vector<Nanoseconds> inputs_, ahead_, unsent_;
  std::vector<NodeId> settled_;
  std::unique_ptr<MemoryLedger> ledger_;
  std::vector<Bytes> over_;
  std::unique_ptr<Reservations> reservations_;
  std::unique_ptr<PortPlan> ports_;
};

/// Devices of the units that hold a lazy node, kNoDevice for all others, by node.
std::vector<DeviceId> devices_of_lazy_units(const Graph& graph, const Constructed& plan) {
  const std::vector<char> lazy = lazy_nodes(graph);
  std::vector<DeviceId> given(graph.num_nodes(), kNoDevice);
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    if (lazy[v] != 0) given[v] = plan.device[v];
  }
  return given;
}

}  // namespace

Constructed eil(const CostModel& costs, const ListOptions& options) {
  if (!options.lazy_sources || !options.settle_again) return Eil(costs, options).run();
  ListOrder order;
  ListOptions late = options;
  if (options.order == nullptr) {
    order = list_order(costs, options.bottom_levels);
    late.order = &order;
  }
  late.plan_order = false;
  const Constructed plan = Eil(costs, late).run();
  const std::vector<DeviceId> given = devices_of_lazy_units(costs.graph(), plan);
  ListOptions settled = late;
  settled.plan_order = options.plan_order;
  settled.lazy_sources = false;
  settled.given = given;
  settled.foreseen = plan.device;
  return Eil(costs, settled).run();
}

}  // namespace pardnn
