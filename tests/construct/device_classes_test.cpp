#include "construct/device_classes.hpp"

#include <gtest/gtest.h>

#include "construct/plan_checks.hpp"

namespace pardnn {
namespace {

TEST(DeviceClasses, EqualDevicesAreOneClass) {
  const Machine machine = homogeneous_machine(5);
  const std::vector<DeviceId> all{0, 1, 2, 3, 4};
  const DeviceClasses classes = device_classes(machine, all);
  ASSERT_EQ(classes.members.size(), 1U);
  EXPECT_EQ(classes.members[0], all);
}

TEST(DeviceClasses, TwoHostsAreTwoClasses) {
  const Machine machine = test::two_unequal_hosts();
  const DeviceClasses classes = device_classes(machine, std::vector<DeviceId>{0, 1, 2, 3});
  ASSERT_EQ(classes.members.size(), 2U);
  EXPECT_EQ(classes.members[0], (std::vector<DeviceId>{0, 1}));
  EXPECT_EQ(classes.members[1], (std::vector<DeviceId>{2, 3}));
}

TEST(DeviceClasses, KnowsOnlyTheDevicesAskedFor) {
  const DeviceClasses classes = device_classes(homogeneous_machine(3), std::vector<DeviceId>{2});
  EXPECT_EQ(classes.of, (std::vector<std::int32_t>{-1, -1, 0}));
}

TEST(DeviceClasses, OneSlowLinkSplitsAClass) {
  Machine machine = homogeneous_machine(3);
  machine.latency[machine.link(0, 2)] += 1;
  const DeviceClasses classes = device_classes(machine, std::vector<DeviceId>{0, 1, 2});
  EXPECT_NE(classes.of[1], classes.of[2]);
}

}  // namespace
}  // namespace pardnn
