/// EIL: emulate in the loop. Runs the devices as the emulated run will (model.md, fifo) and places a node when its last predecessor
/// finishes: on the device where it would finish first, given the work that is queued there already. What it plans under `free` links is
/// therefore exactly the emulated run of its placement; under `ports` it is as far as it is foreseen (port_plan.hpp).
///
/// Variants (list_options.hpp): lazy sources, factor on transfers, look-ahead to consumers that have their device, order and tie rules, devices
/// kept for heirs, ports and their price, device subsets, budgets, dispatch by bottom level.
#pragma once

#include "construct/constructed.hpp"
#include "construct/list_options.hpp"
#include "costs/cost_model.hpp"

namespace pardnn {

/// Reads all of `options` but `method`. O((V + E) log V + V K), times K on the edges of mixed links or with ports; twice that with lazy sources that settle again.
Constructed eil(const CostModel& costs, const ListOptions& options);

}  // namespace pardnn
