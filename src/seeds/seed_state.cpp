#include "seeds/seed_state.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace pardnn {

void SeedSet::add(std::int64_t first, std::int64_t last) {
  auto next = ranges_.upper_bound(first);
  if (next != ranges_.begin() && std::prev(next)->second >= first - 1) --next;
  while (next != ranges_.end() && next->first <= last + 1) {
    first = std::min(first, next->first);
    last = std::max(last, next->second);
    count_ -= next->second - next->first + 1;
    next = ranges_.erase(next);
  }
  ranges_.emplace(first, last);
  count_ += last - first + 1;
}

bool SeedSet::contains(std::int64_t index) const {
  const auto next = ranges_.upper_bound(index);
  return next != ranges_.begin() && std::prev(next)->second >= index;
}

void keep_better(std::optional<Seeded>& best, Seeded other) {
  if (!best || is_better(other, *best)) best = std::move(other);
}

}  // namespace pardnn
