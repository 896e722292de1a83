#include "baselines/single_device.hpp"

#include <vector>

#include "baselines/unit_walk.hpp"

namespace pardnn {

Constructed single_device(const CostModel& costs) {
  const Machine& machine = costs.machine();
  DeviceId fastest = 0;
  for (DeviceId d = 1; d < machine.num_devices(); ++d) {
    if (machine.devices[d].speed > machine.devices[fastest].speed) fastest = d;
  }
  return placed_by_units(costs.graph(), std::vector<DeviceId>(costs.graph().num_units(), fastest));
}

}  // namespace pardnn
