/// The variants of the list schedulers that a search starts from.
#pragma once

#include <cstdint>
#include <vector>

#include "construct/list_options.hpp"
#include "costs/cost_model.hpp"
#include "pardnn/options.hpp"

namespace pardnn {

/// Variants that a preset tries, the most promising first. `seed` 1 gives the plain set; other seeds vary weights.
std::vector<ListOptions> list_variants(const CostModel& costs, Preset preset, std::uint64_t seed);

}  // namespace pardnn
