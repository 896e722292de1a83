#include "plan/slices.hpp"

#include <gtest/gtest.h>

namespace pardnn {
namespace {

/// Devices of the given hosts, equal but for the links: 100 GB/s in a host, 10 GB/s between hosts.
Machine cluster(const std::vector<int>& hosts) {
  Machine machine = homogeneous_machine(static_cast<DeviceId>(hosts.size()), 1000);
  for (std::size_t d = 0; d < hosts.size(); ++d) machine.devices[d].host = hosts[d];
  for (DeviceId p = 0; p < machine.num_devices(); ++p) {
    for (DeviceId q = 0; q < machine.num_devices(); ++q) {
      if (p != q) machine.bandwidth[machine.link(p, q)] = hosts[static_cast<std::size_t>(p)] == hosts[static_cast<std::size_t>(q)] ? 100'000'000'000 : 10'000'000'000;
    }
  }
  return machine;
}

TEST(DevicesByHost, HostsAsTheMachineNamesThemFirst) {
  EXPECT_EQ(devices_by_host(cluster({7, 2, 7, 2, 0})), (std::vector<DeviceId>{0, 2, 1, 3, 4}));
}

TEST(SlicesOf, StayInsideAHostWhereTheyCan) {
  const Machine machine = cluster({0, 0, 0, 0, 0, 1, 1, 1});
  EXPECT_EQ(slices_of(machine, 2), (std::vector<Slice>{{0, 1}, {2, 3}, {5, 6}}));
  EXPECT_EQ(slices_of(machine, 3), (std::vector<Slice>{{0, 1, 2}, {5, 6, 7}}));
  EXPECT_EQ(slices_of(machine, 4), (std::vector<Slice>{{0, 1, 2, 3}}));
  EXPECT_EQ(slices_of(machine, 1).size(), 8u);
}

TEST(SlicesOf, RunOverBordersWhereNoHostHoldsAReplica) {
  const Machine machine = cluster({0, 0, 1, 1, 2, 2});
  EXPECT_EQ(slices_of(machine, 3), (std::vector<Slice>{{0, 1, 2}, {3, 4, 5}}));
  EXPECT_EQ(slices_of(machine, 4), (std::vector<Slice>{{0, 1, 2, 3}}));
  EXPECT_EQ(slices_of(machine, 6).size(), 1u);
}

TEST(ReplicasAtHostBorders, OneTwoFourHostsAndAll) {
  const Machine machine = cluster({0, 0, 1, 1, 2, 2, 3, 3, 4, 4});
  EXPECT_EQ(replicas_at_host_borders(machine, slices_of(machine, 1)), (std::vector<int>{2, 4, 8, 10}));
  EXPECT_EQ(replicas_at_host_borders(machine, slices_of(machine, 2)), (std::vector<int>{1, 2, 4, 5}));
  EXPECT_EQ(replicas_at_host_borders(machine, slices_of(machine, 10)), (std::vector<int>{1}));
}

TEST(SubMachine, TakesDevicesLinksAndHeadroom) {
  Machine machine = cluster({0, 0, 1});
  machine.devices[2].capacity = 77;
  machine.headroom = 5;
  machine.links = Links::ports;
  const Machine part = sub_machine(machine, std::vector<DeviceId>{2, 0});
  EXPECT_EQ(part.devices[0].name, "gpu2");
  EXPECT_EQ(part.devices[0].capacity, 77);
  EXPECT_EQ(part.devices[1].name, "gpu0");
  EXPECT_EQ(part.bandwidth[part.link(0, 1)], 10'000'000'000);
  EXPECT_EQ(part.headroom, 5);
  EXPECT_EQ(part.links, Links::ports);
}

TEST(SliceKinds, DifferByCapacitySpeedOrLinks) {
  Machine machine = cluster({0, 0, 1, 1, 2, 3, 4, 4});
  const std::vector<Slice> slices{{0, 1}, {2, 3}, {4, 5}, {6, 7}};
  EXPECT_EQ(slice_kinds(machine, slices), (std::vector<int>{0, 0, 2, 0}));
  machine.devices[7].speed = kOne / 2;
  EXPECT_EQ(slice_kinds(machine, slices), (std::vector<int>{0, 0, 2, 3}));
  machine.devices[3].capacity = 999;
  EXPECT_EQ(slice_kinds(machine, slices), (std::vector<int>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace pardnn
