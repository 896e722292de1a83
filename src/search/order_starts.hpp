/// Starts for Policy::priority when memory is tight: order and placement chosen together.
#pragma once

#include <cstdint>
#include <functional>

#include "pardnn/options.hpp"
#include "search/pool.hpp"

namespace pardnn {

struct OrderContext {
  Preset preset = Preset::standard;
  std::function<bool()> should_stop;  ///< may be empty
};

/// Adds to `pool`, whose judge must follow Policy::priority:
/// - the placements that are in it, depth first (order/depth_first_order.hpp);
/// - pipeline stages (order/stages.hpp), whose cuts are shifted from devices that overflow to those that do not, run after run, for each
///   shape and order;
/// - list schedulers with the usable memory as budget, which rank by the depth-first order.
/// At least one of each; more as long as the preset's budget of visits lasts.
void add_order_starts(Pool& pool, const OrderContext& context);

/// Where no order helps: the candidates of a search under Policy::fifo, in the order in which they started. Runs under
/// Policy::priority are the same to the ns then, so nothing that fits under fifo is missed.
void add_replayed(Pool& pool, Pool& fifo);

}  // namespace pardnn
