#include <algorithm>
#include <vector>

#include "pardnn/graph.hpp"

namespace pardnn {
namespace {

struct RowEdge {
  std::int64_t target, output, bytes;
  bool operator<(const RowEdge& other) const {
    return target != other.target ? target < other.target : output < other.output;
  }
  bool same_as(const RowEdge& other) const { return target == other.target && output == other.output; }
};

bool is_merged(const GraphData& data) {
  for (std::int64_t v = 0; v < data.num_nodes(); ++v) {
    for (std::int64_t e = data.indptr[v] + 1; e < data.indptr[v + 1]; ++e) {
      if (data.indices[e - 1] > data.indices[e]) return false;
      if (data.indices[e - 1] < data.indices[e]) continue;
      if (data.output.empty() || data.output[e - 1] >= data.output[e]) return false;
    }
  }
  return true;
}

/// Sorted row of v, parallel edges merged into their first.
void merge_row(const GraphData& data, std::int64_t v, std::vector<RowEdge>& row) {
  row.clear();
  for (std::int64_t e = data.indptr[v]; e < data.indptr[v + 1]; ++e) {
    row.push_back({data.indices[e], data.output.empty() ? 0 : data.output[e], data.bytes[e]});
  }
  std::sort(row.begin(), row.end());
  std::size_t kept = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (kept > 0 && row[kept - 1].same_as(row[i])) {
      Bytes& bytes = row[kept - 1].bytes;
      bytes = data.output.empty() ? bytes + row[i].bytes : std::max(bytes, row[i].bytes);
    } else {
      row[kept++] = row[i];
    }
  }
  row.resize(kept);
}

}  // namespace

void merge_parallel_edges(GraphData& data) {
  if (is_merged(data)) return;
  std::vector<RowEdge> row;
  std::int64_t write = 0;
  std::int64_t begin = data.indptr[0];
  for (std::int64_t v = 0; v < data.num_nodes(); ++v) {
    const std::int64_t end = data.indptr[v + 1];
    data.indptr[v] = begin;  // the old begin: rows before v are rewritten already
    merge_row(data, v, row);
    data.indptr[v] = write;
    for (const RowEdge& edge : row) {
      data.indices[write] = edge.target;
      data.bytes[write] = edge.bytes;
      if (!data.output.empty()) data.output[write] = edge.output;
      ++write;
    }
    begin = end;
  }
  data.indptr[data.num_nodes()] = write;
  data.indices.resize(write);
  data.bytes.resize(write);
  if (!data.output.empty()) data.output.resize(write);
}

}  // namespace pardnn
