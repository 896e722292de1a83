#include "baselines/blocks.hpp"

#include <numeric>
#include <span>
#include <vector>

#include "baselines/unit_walk.hpp"

namespace pardnn {
namespace {

Constructed blocks_of(const CostModel& costs, std::span<const UnitId> order) {
  const Graph& graph = costs.graph();
  const Machine& machine = costs.machine();
  std::vector<Nanoseconds> work = unit_work(graph);
  Nanoseconds total = std::accumulate(work.begin(), work.end(), Nanoseconds{0});
  if (total == 0) {
    work.assign(work.size(), 1);
    total = static_cast<Nanoseconds>(work.size());
  }
  // Device d ends where the work so far reaches the share of devices 0 .. d.
  std::vector<Nanoseconds> end;
  Millionths speed = 0;
  for (const Device& device : machine.devices) {
    speed += device.speed;
    end.push_back(ceil_mul_div(total, speed, machine.total_speed()));
  }
  std::vector<DeviceId> device(graph.num_units(), 0);
  Nanoseconds before = 0;
  DeviceId d = 0;
  for (const UnitId u : order) {
    // The middle of the unit decides; written so that nothing is halved or overflows.
    while (d + 1 < machine.num_devices() && before + (work[u] - work[u] / 2) > end[d]) ++d;
    device[u] = d;
    before += work[u];
  }
  return placed_by_units(graph, device);
}

}  // namespace

Constructed topological_blocks(const CostModel& costs) {
  return blocks_of(costs, units_in_topological_order(costs.graph()));
}

Constructed file_order_blocks(const CostModel& costs) { return blocks_of(costs, units_in_file_order(costs.graph())); }

}  // namespace pardnn
