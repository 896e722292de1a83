#include "bounds/one_device.hpp"

#include <algorithm>
#include <utility>

namespace pardnn {

Nanoseconds one_device_bound(std::vector<Job>& jobs) {
  std::sort(jobs.begin(), jobs.end(), [](const Job& a, const Job& b) { return a.head < b.head; });
  std::vector<std::pair<Nanoseconds, Nanoseconds>> waiting;  // (tail, work left), a heap by tail
  Nanoseconds time = 0, bound = 0;
  for (std::size_t next = 0; next < jobs.size() || !waiting.empty();) {
    if (waiting.empty()) time = std::max(time, jobs[next].head);
    for (; next < jobs.size() && jobs[next].head <= time; ++next) {
      waiting.emplace_back(jobs[next].tail, jobs[next].work);
      std::push_heap(waiting.begin(), waiting.end());
    }
    const Nanoseconds until = next < jobs.size() ? jobs[next].head : kNever;
    auto& [tail, left] = waiting.front();
    const Nanoseconds done = std::min(left, until - time);
    time += done;
    left -= done;
    if (left > 0) continue;
    bound = std::max(bound, time + tail);
    std::pop_heap(waiting.begin(), waiting.end());
    waiting.pop_back();
  }
  return bound;
}

}  // namespace pardnn
