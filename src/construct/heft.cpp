#include "construct/heft.hpp"

#include <limits>

#include "construct/flat_heap.hpp"
#include "construct/gap_list.hpp"
#include "construct/list_order.hpp"
#include "construct/list_state.hpp"

namespace pardnn {
namespace {

class Heft {
 public:
  Heft(const CostModel& costs, const ListOptions& options)
      : state_(costs, options), order_(options.order != nullptr ? *options.order : own_order_), gaps_(costs.num_devices()), inputs_(costs.num_devices()) {
    const Graph& graph = costs.graph();
    if (options.order == nullptr) own_order_ = list_order(costs, options.bottom_levels);
    waiting_.resize(graph.num_nodes());
    for (NodeId v = 0; v < graph.num_nodes(); ++v) {
      waiting_[v] = state_.num_awaited(v);
      if (waiting_[v] == 0 && !state_.is_lazy(v)) ready_.push(order_.rank[v]);
    }
  }

  Constructed run() {
    while (!ready_.empty()) {
      const NodeId v = order_.node[ready_.top()];
      ready_.pop();
      plan(v);
      release_successors(v);
    }
    state_.settle_rest();
    return state_.result();
  }

 private:
  struct Choice {
    DeviceId device = kNoDevice;
    Nanoseconds start = 0;
    Nanoseconds finish = std::numeric_limits<Nanoseconds>::max();
  };

  void consider(NodeId v, DeviceId d, Choice& best) const {
    const Nanoseconds duration = state_.costs().duration(v, d);
    if (inputs_[d] + duration >= best.finish) return;
    const Nanoseconds start = gaps_[d].earliest(inputs_[d], duration);
    if (start + duration < best.finish) best = {d, start, start + duration};
  }

  void plan(NodeId v) {
    Choice best;
    if (const DeviceId given = state_.device(v); given != kNoDevice) {
      inputs_[given] = state_.inputs_ready(v, given);
      consider(v, given, best);
    } else {
      state_.weighted_inputs(v, inputs_);
      for (const DeviceId d : state_.devices()) consider(v, d, best);
    }
    state_.give_device(v, best.device);
    settled_.clear();
    state_.settle_inputs(v, best.device, settled_);
    const Nanoseconds duration = state_.costs().duration(v, best.device);
    // Scaled transfers, or lazy inputs that came along, may have moved the true time of the inputs.
    const Nanoseconds start = gaps_[best.device].earliest(state_.inputs_ready(v, best.device), duration);
    gaps_[best.device].occupy(start, duration);
    state_.set_times(v, start, start + duration);
  }

  void release_successors(NodeId v) {
    const Graph& graph = state_.graph();
    for (EdgeId e = graph.out_begin(v); e < graph.out_end(v); ++e) {
      const NodeId w = graph.target(e);
      if (--waiting_[w] == 0) ready_.push(order_.rank[w]);
    }
  }

  ListState state_;
  ListOrder own_order_;
  const ListOrder& order_;
  std::vector<std::int64_t> waiting_;
  FlatHeap<std::int64_t> ready_;
  std::vector<GapList> gaps_;
  std::vector<Nanoseconds> inputs_;
  std::vector<NodeId> settled_;
};

}  // namespace

Constructed heft(const CostModel& costs, const ListOptions& options) { return Heft(costs, options).run(); }

}  // namespace pardnn
