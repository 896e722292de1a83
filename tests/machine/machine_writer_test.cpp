#include <gtest/gtest.h>

#include "machine/shipped_machines.hpp"
#include "pardnn/machine.hpp"

namespace pardnn {
namespace {

void expect_same(const Machine& a, const Machine& b) {
  EXPECT_EQ(a.name, b.name);
  ASSERT_EQ(a.num_devices(), b.num_devices());
  for (std::size_t d = 0; d < a.devices.size(); ++d) {
    EXPECT_EQ(a.devices[d].name, b.devices[d].name);
    EXPECT_EQ(a.devices[d].capacity, b.devices[d].capacity);
    EXPECT_EQ(a.devices[d].speed, b.devices[d].speed);
    EXPECT_EQ(a.devices[d].host, b.devices[d].host);
  }
  EXPECT_EQ(a.latency, b.latency);
  EXPECT_EQ(a.bandwidth, b.bandwidth);
}

TEST(MachineWriter, RoundTripsShippedMachines) {
  for (const ShippedMachine& shipped : shipped_machines()) {
    const Machine machine = read_machine(std::string(shipped.name));
    expect_same(parse_machine(machine_json(machine), "again"), machine);
  }
}

TEST(MachineWriter, RoundTripsUnlimitedMemoryOddSpeedsAndOneWayLinks) {
  Machine machine = homogeneous_machine(3);
  machine.devices[0].speed = 1;
  machine.devices[1].speed = 999'999'999'999;
  machine.devices[2].speed = 1'234'567;
  machine.devices[2].capacity = kUnlimited - 1;
  machine.latency[machine.link(2, 1)] = 77;
  machine.bandwidth[machine.link(0, 1)] = 1;
  expect_same(parse_machine(machine_json(machine), "again"), machine);
}

TEST(MachineWriter, RoundTripsOneDevice) {
  const Machine machine = homogeneous_machine(1, 12345);
  expect_same(parse_machine(machine_json(machine), "again"), machine);
}

TEST(MachineWriter, StaysShortWhereHostsSayEverything) {
  EXPECT_LT(machine_json(homogeneous_machine(512)).size(), 64u * 1024);
}

}  // namespace
}  // namespace pardnn
