#include "search/order_starts.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "construct/list_scheduler.hpp"
#include "order/depth_first_order.hpp"
#include "order/stages.hpp"

namespace pardnn {
namespace {

__extension__ using Wide = __int128;

/// Shifts of the cuts, for one shape and order.
constexpr int kMostShifts = 12;

/// Nodes and edges that may be visited by the emulations of all order starts.
std::int64_t start_visits(Preset preset) {
  switch (preset) {
    case Preset::fast: return 2'000'000;
    case Preset::standard: return 16'000'000;
    case Preset::strong: return 200'000'000;
  }
  return 0;
}

struct NamedOrder {
  std::string name;
  std::vector<std::int64_t> priority;  ///< empty: bottom levels of the placed graph
};

class OrderStarts {
 public:
  OrderStarts(Pool& pool, const OrderContext& context)
      : pool_(pool), context_(context), costs_(pool.judge().costs()),
        runs_left_(start_visits(context.preset) / (costs_.graph().num_nodes() + costs_.graph().num_edges() + 1)) {
    const std::vector<NodeId> order = depth_first_order(costs_, BranchOrder::greatest_bottom_level);
    orders_.push_back({"depth first", priority_of_order(order)});
    for (const std::int64_t windows : {32, 8}) {
      orders_.push_back({"depth first in " + std::to_string(windows) + " windows", priority_of_order(soften(costs_, order, windows))});
    }
  }

  void run() {
    reorder();
    orders_.push_back({"bottom levels", {}});
    stages();
    lists();
  }

 private:
  bool may_go_on() const { return runs_left_ > 0 && !(context_.should_stop && context_.should_stop()); }

  Score judge(std::vector<DeviceId> device, const NamedOrder& order, const std::string& origin) {
    --runs_left_;
    Candidate candidate;
    candidate.score = pool_.judge().score(device, order.priority);
    candidate.device = std::move(device);
    candidate.priority = order.priority;
    candidate.origin = origin + ", " + order.name;
    const Score score = candidate.score;
    pool_.keep(std::move(candidate));
    return score;
  }

  void reorder() {
    const std::vector<Candidate> known = pool_.candidates();
    for (const Candidate& candidate : known) {
      for (const NamedOrder& order : orders_) {
        judge(candidate.device, order, candidate.origin);
        if (!may_go_on()) return;
      }
    }
  }

  void stages() {
    const Stages even(costs_, affinity_groups(costs_, AffinityRule::layers));
    for (const StageShape shape : {StageShape::blocks, StageShape::wave}) {
      for (const NamedOrder& order : orders_) {
        Stages stages = even;
        shift_cuts(stages, shape, order);
        if (!may_go_on()) return;
      }
    }
  }

  void shift_cuts(Stages& stages, StageShape shape, const NamedOrder& order) {
    for (int shift = 0; shift <= kMostShifts; ++shift) {
      const std::vector<DeviceId> device = stages.cut(shape);
      const std::string name = shape == StageShape::blocks ? "stages" : "stages in a wave";
      const Score score = judge(device, order, shift == 0 ? name : name + ", " + std::to_string(shift) + " shifts");
      if (score.feasible() || !may_go_on()) return;
      stages.scale(device, fullness());
    }
  }

  /// By device: halfway from 1 to how full it is, in the run that was judged last, against the least full one.
  std::vector<Millionths> fullness() const {
    const Judge& judge = pool_.judge();
    std::vector<Millionths> full;
    for (DeviceId d = 0; d < costs_.num_devices(); ++d) {
      const Bytes usable = std::max<Bytes>(judge.usable(d), 1);
      full.push_back(static_cast<Millionths>(std::clamp<Wide>(Wide{judge.peaks().peak[d]} * kOne / usable, kOne / 100, 100 * kOne)));
    }
    const Millionths least = *std::min_element(full.begin(), full.end());
    for (Millionths& factor : full) factor = (kOne + std::min<Millionths>(factor * 1000 / std::max<Millionths>(least / 1000, 1), 4 * kOne)) / 2;
    return full;
  }

  /// ETF and EIL that rank by the depth-first order, within parts of usable memory.
  void lists() {
    std::vector<Nanoseconds> rank(orders_.front().priority.size());
    for (std::size_t v = 0; v < rank.size(); ++v) rank[v] = orders_.front().priority[v] + static_cast<Nanoseconds>(rank.size());
    for (const Millionths share : {900'000, 1'100'000, 700'000, 500'000}) {
      for (const ListMethod method : {ListMethod::etf, ListMethod::eil}) {
        ListOptions options;
        options.method = method;
        options.lazy_sources = true;
        options.bottom_levels = rank;
        for (DeviceId d = 0; d < costs_.num_devices(); ++d) {
          options.budget.push_back(static_cast<Bytes>(Wide{pool_.judge().usable(d)} * share / kOne));
        }
        Constructed constructed = construct_list(costs_, options);
        const std::string name = variant_name(options) + " by depth-first order";
        judge(constructed.device, orders_.front(), name);
        pool_.add(std::move(constructed), name);
        runs_left_ -= 6;
        if (!may_go_on()) return;
      }
    }
  }

  Pool& pool_;
  const OrderContext& context_;
  const CostModel& costs_;
  std::int64_t runs_left_;
  std::vector<NamedOrder> orders_;
};

}  // namespace

void add_order_starts(Pool& pool, const OrderContext& context) { OrderStarts(pool, context).run(); }

void add_replayed(Pool& pool, Pool& fifo) {
  for (const Candidate& candidate : fifo.candidates()) {
    fifo.judge().score(candidate.device);
    Candidate replayed = candidate;
    replayed.priority = priority_of_order(fifo.judge().schedule().start_order);
    replayed.score = pool.judge().score(replayed.device, replayed.priority);
    replayed.origin += ", fifo's order";
    pool.keep(std::move(replayed));
  }
}

}  // namespace pardnn
