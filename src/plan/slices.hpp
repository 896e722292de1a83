/// Slices of a machine: where the replicas of a data-parallel run live.
#pragma once

#include <span>
#include <vector>

#include "pardnn/machine.hpp"

namespace pardnn {

/// The devices of one replica: device d of the placement is machine device `slice[d]`.
using Slice = std::vector<DeviceId>;

/// All devices, host by host (hosts in the order in which the machine names them first, devices of a host by index).
std::vector<DeviceId> devices_by_host(const Machine& machine);

/// Disjoint slices of `devices` devices each, as many as there are: consecutive devices, host by host. Where any host holds a whole
/// replica, every replica stays inside one host and what is left of a host is not used; else replicas run over the borders of hosts.
/// O(devices of the machine).
std::vector<Slice> slices_of(const Machine& machine, DeviceId devices);

/// How many of the first `slices` end with host 1, 2, 4, 8, ... (a slice over several hosts counts as one), and all of them: 3 hosts of two slices each give
/// {2, 4, 6}. Ascending. O(slices).
std::vector<int> replicas_at_host_borders(const Machine& machine, std::span<const Slice> slices);

/// The machine that a replica sees: the devices of `slice` with their own names, links, headroom and link model. O(K^2).
Machine sub_machine(const Machine& machine, std::span<const DeviceId> slice);

/// True if the two slices have equal capacities, speeds and links, device by device: what is right on one is right on the other. O(K^2).
bool are_alike(const Machine& machine, std::span<const DeviceId> a, std::span<const DeviceId> b);

/// For each slice the index of the first slice that is alike. O(slices * kinds * K^2).
std::vector<int> slice_kinds(const Machine& machine, std::span<const Slice> slices);

}  // namespace pardnn
