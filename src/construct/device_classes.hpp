/// Devices that no node can tell apart, except by having a predecessor on one of them.
#pragma once

#include <span>
#include <vector>

#include "pardnn/machine.hpp"

namespace pardnn {

struct DeviceClasses {
  std::vector<std::int32_t> of;                 ///< class of each device; -1 for devices not asked for
  std::vector<std::vector<DeviceId>> members;   ///< devices of each class, increasing; classes by their lowest device
};

/// Classes of `devices`: d joins the first class whose lowest device m is like it: equal speeds, equal links d -> m and m -> d, and every
/// other device p reaches both by equal links. On a homogeneous machine there is one class, on two hosts there are two. Users
/// must not rely on likeness beyond speed: on irregular links two members of a class may differ. O(K^2 classes).
DeviceClasses device_classes(const Machine& machine, std::span<const DeviceId> devices);

}  // namespace pardnn
