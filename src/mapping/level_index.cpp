#include "mapping/level_index.hpp"

#include <tbb/parallel_sort.h>

#include <algorithm>
#include <utility>

namespace pardnn {

LevelIndex::LevelIndex(const Graph& graph, const WeightedLevels& levels) {
  const NodeId nodes = graph.num_nodes();
  std::vector<std::pair<Nanoseconds, NodeId>> sorted(nodes);
  for (NodeId v = 0; v < nodes; ++v) {
    sorted[v] = {levels.top[v], v};
    length_ = std::max(length_, levels.weighted(v));
  }
  tbb::parallel_sort(sorted.begin(), sorted.end());  // keys are distinct: one result for any number of threads
  order_.resize(nodes);
  position_.resize(nodes);
  tops_.resize(nodes);
  for (std::int64_t i = 0; i < nodes; ++i) {
    tops_[i] = sorted[i].first;
    order_[i] = sorted[i].second;
    position_[order_[i]] = i;
  }
  if (nodes == 0) return;
  while ((tops_.back() >> shift_) > nodes) ++shift_;
  const std::int64_t last = tops_.back() >> shift_;
  buckets_.assign(last + 2, nodes);
  for (std::int64_t i = nodes; i-- > 0;) buckets_[tops_[i] >> shift_] = i;
  for (std::int64_t b = last; b-- > 0;) buckets_[b] = std::min(buckets_[b], buckets_[b + 1]);
}

std::int64_t LevelIndex::nodes_before(Nanoseconds time) const {
  if (time <= 0 || tops_.empty()) return 0;
  if (time > tops_.back()) return size();
  const std::int64_t bucket = time >> shift_;
  const auto begin = tops_.begin() + buckets_[bucket], end = tops_.begin() + buckets_[bucket + 1];
  return std::lower_bound(begin, end, time) - tops_.begin();
}

LevelRange LevelIndex::range(Nanoseconds from, Nanoseconds to) const {
  if (from >= to) return {};
  return {nodes_before(from), nodes_before(to)};
}

}  // namespace pardnn
