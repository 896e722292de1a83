/// The list schedulers of src/construct as they stand in the comparison.
#pragma once

#include "construct/constructed.hpp"
#include "costs/cost_model.hpp"

namespace pardnn {

Constructed plain_heft(const CostModel& costs);
Constructed plain_etf(const CostModel& costs);
/// Sources of zero duration follow their first consumer.
Constructed lazy_heft(const CostModel& costs);
Constructed lazy_etf(const CostModel& costs);
/// EIL with lazy sources, transfers and look-ahead at half weight: the single variant that did best on captured training graphs (bench/construct_table.cpp).
Constructed best_eil(const CostModel& costs);

/// m-ETF of Baechi (Jeon et al., SoCC 2020): ETF that passes over devices whose usable memory would overflow. Departure: memory
/// is estimated with lifetimes (memory_ledger.hpp) instead of summed up, and if no device fits, the one with the least overflow is taken.
Constructed memory_etf(const CostModel& costs);
/// m-SCT of Baechi, its list-scheduling core: as memory_etf, and a device waits for the favourite child of its last node. Departure: favourite
/// children come from a greedy matching by transfer cost (favourite_child.hpp) instead of a linear program.
Constructed memory_sct(const CostModel& costs);

}  // namespace pardnn
