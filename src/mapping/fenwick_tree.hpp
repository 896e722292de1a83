/// Prefix sums with point updates (Fenwick, Software: Practice and Experience, 1994). Knows nothing about graphs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pardnn {

/// `width` Fenwick trees over the same positions, side by side: the entries of one position are neighbours in memory,
/// so that one walk of O(log size) steps sums all of them.
template <typename Value>
class FenwickTree {
 public:
  /// All zero. O(size * width).
  explicit FenwickTree(std::int64_t size, std::int64_t width = 1)
      : size_(size), width_(width), sums_(static_cast<std::size_t>(size * width)) {}

  std::int64_t size() const { return size_; }
  std::int64_t width() const { return width_; }

  /// Adds `delta` at `position` of tree `column`. O(log size).
  void add(std::int64_t position, std::int64_t column, Value delta) {
    for (std::int64_t i = position + 1; i <= size_; i += i & -i) sums_[(i - 1) * width_ + column] += delta;
  }
  void add(std::int64_t position, Value delta) { add(position, 0, delta); }

  /// out[c] += sum of tree c over positions [from, to), for every c < width. O(width log size).
  void add_range(std::int64_t from, std::int64_t to, std::span<Value> out) const {
    // Both walks meet at a common ancestor; what lies below it cancels, so they stop there.
    while (to > from) {
      for (std::int64_t c = 0; c < width_; ++c) out[c] += sums_[(to - 1) * width_ + c];
      to -= to & -to;
    }
    while (from > to) {
      for (std::int64_t c = 0; c < width_; ++c) out[c] -= sums_[(from - 1) * width_ + c];
      from -= from & -from;
    }
  }

  /// Sum of the first tree over positions [from, to). O(log size).
  Value range(std::int64_t from, std::int64_t to) const {
    Value sum{};
    for (; to > from; to -= to & -to) sum += sums_[(to - 1) * width_];
    for (; from > to; from -= from & -from) sum -= sums_[(from - 1) * width_];
    return sum;
  }

 private:
  std::int64_t size_, width_;
  std::vector<Value> sums_;
};

}  // namespace pardnn
