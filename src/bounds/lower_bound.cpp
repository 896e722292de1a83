#include <algorithm>
#include <vector>

#include "pardnn/emulate.hpp"

namespace pardnn {

Nanoseconds lower_bound(const Graph& graph, const Machine& machine) {
  const Millionths fastest = machine.fastest_speed();
  std::vector<Nanoseconds> finish(static_cast<std::size_t>(graph.num_nodes()), 0);  // earliest, without communication
  Nanoseconds critical = 0;
  for (NodeId v = 0; v < graph.num_nodes(); ++v) {
    Nanoseconds start = 0;
    for (EdgeId i = graph.in_begin(v); i < graph.in_end(v); ++i) start = std::max(start, finish[graph.source(i)]);
    finish[v] = start + ceil_mul_div(graph.comp(v), kOne, fastest);
    critical = std::max(critical, finish[v]);
  }
  return std::max(critical, ceil_mul_div(graph.total_comp(), kOne, machine.total_speed()));
}

}  // namespace pardnn
