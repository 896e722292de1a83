#include "graph/units.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace pardnn {

DisjointSets::DisjointSets(std::int64_t elements) : parent_(elements) {
  std::iota(parent_.begin(), parent_.end(), std::int64_t{0});
}

std::int64_t DisjointSets::find(std::int64_t element) {
  while (parent_[element] != element) {
    parent_[element] = parent_[parent_[element]];
    element = parent_[element];
  }
  return element;
}

void DisjointSets::join(std::int64_t a, std::int64_t b) {
  a = find(a);
  b = find(b);
  if (a > b) std::swap(a, b);
  parent_[b] = a;
}

DisjointSets tied_nodes(std::int64_t nodes, std::span<const std::int64_t> colocation, std::span<const std::int64_t> alias) {
  DisjointSets sets(nodes);
  for (std::int64_t v = 0; v < static_cast<std::int64_t>(alias.size()); ++v) {
    if (alias[v] >= 0) sets.join(v, alias[v]);
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> members;  // (group, node)
  for (std::int64_t v = 0; v < static_cast<std::int64_t>(colocation.size()); ++v) {
    if (colocation[v] >= 0) members.emplace_back(colocation[v], v);
  }
  std::sort(members.begin(), members.end());
  for (std::size_t i = 1; i < members.size(); ++i) {
    if (members[i].first == members[i - 1].first) sets.join(members[i].second, members[i - 1].second);
  }
  return sets;
}

}  // namespace pardnn
