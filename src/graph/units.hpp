/// Units: the least sets of nodes that must share a device (colocation groups and alias chains, joined).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace pardnn {

/// Disjoint sets over 0 .. n-1 whose representative is their least element. Near O(1) an operation.
class DisjointSets {
 public:
  explicit DisjointSets(std::int64_t elements);
  std::int64_t find(std::int64_t element);
  void join(std::int64_t a, std::int64_t b);

 private:
  std::vector<std::int64_t> parent_;
};

/// Sets of nodes joined by colocation (>= 0) and alias (>= 0); either may be empty (absent). Node order is the caller's. O(V log V).
DisjointSets tied_nodes(std::int64_t nodes, std::span<const std::int64_t> colocation, std::span<const std::int64_t> alias);

}  // namespace pardnn
