#include "pardnn/machine.hpp"

#include <gtest/gtest.h>

#include "machine/machine_limits.hpp"
#include "pardnn/error.hpp"

namespace pardnn {
namespace {

TEST(Machine, UsableIsCapacityLessHeadroomExactly) {
  Machine machine = homogeneous_machine(2, 10);
  EXPECT_EQ(machine.usable(0), 9);
  machine.headroom = 0;
  EXPECT_EQ(machine.usable(0), 10);
  machine.headroom = 333'333;
  EXPECT_EQ(machine.usable(1), 6);  // floor(6.66667)
}

TEST(Machine, UsableDoesNotOverflow) {
  Machine machine = homogeneous_machine(1, kUnlimited - 1);
  machine.headroom = 1;
  EXPECT_EQ(machine.usable(0), 4'611'681'406'741'369'475);  // floor((2^62 - 1) * 999999 / 10^6)
}

TEST(Machine, UnlimitedStaysUnlimited) {
  const Machine machine = homogeneous_machine(3);
  EXPECT_EQ(machine.headroom, 100'000);
  EXPECT_EQ(machine.usable(2), kUnlimited);
}

TEST(Machine, HomogeneousHasNamesLinksAndDefaults) {
  const Machine machine = homogeneous_machine(3, 1 << 20);
  EXPECT_EQ(machine.num_devices(), 3);
  EXPECT_EQ(machine.devices[2].name, "gpu2");
  EXPECT_EQ(machine.bandwidth[machine.link(0, 2)], 150'000'000'000);
  EXPECT_EQ(machine.latency[machine.link(2, 1)], 5'000);
  EXPECT_EQ(machine.links, Links::free);
  EXPECT_EQ(machine.fastest_speed(), kOne);
  EXPECT_EQ(machine.total_speed(), 3 * kOne);
}

TEST(Machine, WrongNumbersAreRefused) {
  EXPECT_THROW(homogeneous_machine(0), InputError);
  EXPECT_THROW(homogeneous_machine(-1), InputError);
  EXPECT_THROW(homogeneous_machine(kMaxDevices + 1), InputError);
  EXPECT_THROW(homogeneous_machine(2, 0), InputError);
  EXPECT_THROW(homogeneous_machine(2, kUnlimited, 0), InputError);
  EXPECT_THROW(homogeneous_machine(2, kUnlimited, 1, -1), InputError);
  Machine machine = homogeneous_machine(2);
  machine.headroom = kOne;
  EXPECT_THROW(check_machine(machine), InputError);
  machine.headroom = 0;
  machine.devices[1].name = machine.devices[0].name;
  EXPECT_THROW(check_machine(machine), InputError);
}

}  // namespace
}  // namespace pardnn
