#include "search/start_list.hpp"

#include <atomic>
#include <memory>

#include "parallel/in_order.hpp"

namespace pardnn {
namespace {

/// A judge of a thread beside the pool's own.
struct OwnJudge {
  OwnJudge(const CostModel& costs, Policy policy, bool fifo_orders) : judge(costs, policy), starts(judge) {
    if (fifo_orders) starts.try_fifo_orders();
  }
  Judge judge;
  StartJudge starts;
};

}  // namespace

void StartList::run(Pool& pool, const StartContext& context) const {
  const CostModel& costs = pool.judge().costs();
  const int width = side_by_side(costs.graph().num_nodes() + costs.graph().num_edges());
  const auto stopped = [&] { return context.should_stop && context.should_stop(); };
  Spares<OwnJudge> judges;
  // Other threads give up on runs that are too long for the pool as it was a while ago: they may judge more than needed, never less.
  std::atomic<Nanoseconds> latest = pool.latest();
  std::int64_t steps_done = 0;
  make_in_order(
      static_cast<std::int64_t>(starts_.size()), width,
      [&](std::int64_t i) -> std::vector<Candidate> {
        if (i > 0 && stopped()) return {};
        if (width == 1) {
          StartSheet sheet(pool.start_judge(), latest);
          starts_[static_cast<std::size_t>(i)].make(sheet);
          return std::move(sheet.judged());
        }
        const auto judge = judges.lend([&] { return std::make_unique<OwnJudge>(costs, pool.judge().policy(), pool.tries_fifo_orders()); });
        StartSheet sheet(judge->starts, latest);
        starts_[static_cast<std::size_t>(i)].make(sheet);
        return std::move(sheet.judged());
      },
      [&](std::int64_t i, std::vector<Candidate> judged) {
        const Start& start = starts_[static_cast<std::size_t>(i)];
        for (Candidate& candidate : judged) pool.keep(std::move(candidate));
        if (start.then) start.then();
        latest = pool.latest();
        for (int step = 0; step < start.steps_ended; ++step) {
          if (context.progress) context.progress(++steps_done);
        }
        return !stopped();
      });
}

}  // namespace pardnn
