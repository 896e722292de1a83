/// Binary min-heap in one flat array, for small keys that are compared with `<`.
#pragma once

#include <algorithm>
#include <functional>
#include <vector>

namespace pardnn {

template <typename Key>
class FlatHeap {
 public:
  bool empty() const { return keys_.empty(); }
  std::size_t size() const { return keys_.size(); }
  const Key& top() const { return keys_.front(); }
  /// O(log n).
  void push(const Key& key) {
    keys_.push_back(key);
    std::push_heap(keys_.begin(), keys_.end(), std::greater<>{});
  }
  /// O(log n).
  void pop() {
    std::pop_heap(keys_.begin(), keys_.end(), std::greater<>{});
    keys_.pop_back();
  }

 private:
  std::vector<Key> keys_;
};

}  // namespace pardnn
