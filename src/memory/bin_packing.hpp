/// A lower bound for bin packing: proofs that pieces do not fit on the devices there are.
#pragma once

#include <cstdint>
#include <span>

#include "pardnn/units.hpp"

namespace pardnn {

/// The bound L2 of Martello and Toth (Lower bounds and reduction procedures for the bin packing problem, Discrete Applied
/// Mathematics 28, 1990): so many bins of `capacity` are needed at least. `pieces` by falling size, none negative; one that
/// is larger than `capacity` >= 0 fits nowhere: kSumLimit then. O(pieces).
std::int64_t bins_needed(std::span<const Bytes> pieces, Bytes capacity);

}  // namespace pardnn
