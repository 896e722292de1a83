#include "memory/bin_packing.hpp"

#include <algorithm>

namespace pardnn {

std::int64_t bins_needed(std::span<const Bytes> pieces, Bytes capacity) {
  __extension__ using Wide = __int128;
  while (!pieces.empty() && pieces.back() == 0) pieces = pieces.first(pieces.size() - 1);
  if (pieces.empty()) return 0;
  if (pieces.front() > capacity) return kSumLimit;
  // For a threshold a: pieces above capacity - a go alone; those above capacity / 2 need a bin each, and leave room; those
  // of at least a fill that room and further bins. Smaller ones are left out.
  std::int64_t large = 0;  // pieces above capacity / 2
  while (large < static_cast<std::int64_t>(pieces.size()) && Wide(pieces[large]) * 2 > capacity) ++large;
  std::int64_t most = large, alone = large;
  Wide shared_sum = 0, small_sum = 0;  // of large pieces that do not go alone; of the others from a on
  for (std::int64_t i = large; i < static_cast<std::int64_t>(pieces.size()); ++i) {
    small_sum += pieces[i];
    if (i + 1 < static_cast<std::int64_t>(pieces.size()) && pieces[i + 1] == pieces[i]) continue;
    while (alone > 0 && pieces[alone - 1] <= capacity - pieces[i]) shared_sum += pieces[--alone];
    const Wide beyond = small_sum - (Wide(large - alone) * capacity - shared_sum);
    const Wide further = beyond > 0 ? (beyond + capacity - 1) / capacity : Wide{0};
    most = std::max(most, large + static_cast<std::int64_t>(further));
  }
  return most;
}

}  // namespace pardnn
