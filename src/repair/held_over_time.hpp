/// Bytes held on one device over time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pardnn/units.hpp"

namespace pardnn {

/// Bytes by slot of time: add to a range of slots, ask for the greatest. A segment tree whose nodes keep what is added to
/// all below them; it knows nothing of graphs.
class HeldOverTime {
 public:
  /// O(slots).
  void assign(std::span<const Bytes> held);

  /// Adds to slots first .. last. O(log slots).
  void add(std::int64_t first, std::int64_t last, Bytes bytes);

  /// Over all slots; 0 if there are none. O(1).
  Bytes greatest() const { return tree_.empty() ? 0 : tree_[1].greatest; }
  /// The first slot with the greatest. O(log slots).
  std::int64_t first_greatest() const;
  /// O(log slots).
  Bytes at(std::int64_t slot) const;

 private:
  struct Node {
    Bytes greatest;  // of its slots, with what was added to it but not to those above
    Bytes added;     // to all its slots
  };
  void pull(std::int64_t node);

  std::int64_t leaves_ = 0;  // a power of two
  std::vector<Node> tree_;
};

}  // namespace pardnn
