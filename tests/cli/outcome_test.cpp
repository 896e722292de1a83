#include "cli/outcome.hpp"

#include <gtest/gtest.h>

#include "pardnn/machine.hpp"

namespace pardnn::cli {
namespace {

TEST(CapacityFor, IsTheLeastThatFits) {
  for (const Millionths headroom : {Millionths{0}, Millionths{100'000}, Millionths{333'333}, Millionths{999'999}}) {
    for (const Bytes peak : {Bytes{1}, Bytes{9}, Bytes{10}, Bytes{123'456'789}}) {
      const Bytes capacity = capacity_for(peak, headroom);
      Machine machine = homogeneous_machine(1, capacity);
      machine.headroom = headroom;
      EXPECT_GE(machine.usable(0), peak);
      if (capacity == 1) continue;
      machine.devices[0].capacity = capacity - 1;
      EXPECT_LT(machine.usable(0), peak);
    }
  }
  EXPECT_EQ(capacity_for(0, 100'000), 0);
}

TEST(Outcome, RatioNeedsABound) {
  Outcome outcome;
  EXPECT_EQ(outcome.ratio(), 1.0);  // the empty graph
  outcome.evaluation.makespan = 15;
  outcome.evaluation.lower_bound = 10;
  EXPECT_EQ(outcome.ratio(), 1.5);
}

TEST(Outcome, EmptyDevicesAreNamed) {
  Outcome outcome;
  outcome.evaluation.devices.resize(2);
  outcome.evaluation.devices[0].name = "gpu0";
  outcome.evaluation.devices[1].name = "gpu1";
  outcome.evaluation.devices[0].nodes = 4;
  EXPECT_EQ(outcome.empty_devices(), std::vector<std::string>{"gpu1"});
}

}  // namespace
}  // namespace pardnn::cli
