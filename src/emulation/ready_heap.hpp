/// Ready nodes of one device, ordered by (key, file id): the fifo queue (key = ready time) and the priority queue
/// (key = -priority - 1) of model.md. Ties never depend on insertion order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "pardnn/graph.hpp"

namespace pardnn {

class ReadyHeap {
 public:
  struct Entry {
    std::int64_t key;
    NodeId node;
  };

  explicit ReadyHeap(const Graph& graph) : graph_(&graph) {}
  bool empty() const { return entries_.empty(); }
  void clear() { entries_.clear(); }
  const Entry& top() const { return entries_.front(); }
  std::size_t size() const { return entries_.size(); }
  void push(std::int64_t key, NodeId node) {
    entries_.push_back({key, node});
    std::push_heap(entries_.begin(), entries_.end(), After{graph_});
  }
  Entry pop() {
    std::pop_heap(entries_.begin(), entries_.end(), After{graph_});
    const Entry entry = entries_.back();
    entries_.pop_back();
    return entry;
  }

 private:
  struct After {
    const Graph* graph;
    bool operator()(const Entry& a, const Entry& b) const {
      return a.key != b.key ? a.key > b.key : graph->file_id(a.node) > graph->file_id(b.node);
    }
  };
  const Graph* graph_;
  std::vector<Entry> entries_;
};

}  // namespace pardnn
