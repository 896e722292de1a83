#include "cli/plan_hosts.hpp"

#include <gtest/gtest.h>

#include "pardnn/error.hpp"

namespace pardnn::cli {
namespace {

Machine two_hosts() {
  Machine machine = homogeneous_machine(5);
  for (const std::size_t d : {3u, 4u}) machine.devices[d].host = 9;
  return machine;
}

std::string complaint(const std::string& names) {
  try {
    plan_hosts(two_hosts(), names);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(PlanHosts, WithoutNames) {
  const std::vector<PlanHost> hosts = plan_hosts(two_hosts(), {});
  ASSERT_EQ(hosts.size(), 2u);
  EXPECT_EQ(hosts[0].devices, (std::vector<DeviceId>{0, 1, 2}));
  EXPECT_EQ(hosts[1].id, 9);
  EXPECT_EQ(hosts[1].name, "");
}

TEST(PlanHosts, TheJobsFirstHostIsTheMachinesFirst) {
  const std::vector<PlanHost> hosts = plan_hosts(two_hosts(), "n7:3,n2");
  EXPECT_EQ(hosts[0].name, "n7");
  EXPECT_EQ(hosts[1].name, "n2");
}

TEST(PlanHosts, Refusals) {
  EXPECT_NE(complaint("n1").find("1 hosts, but the machine '5 equal devices' has 2"), std::string::npos) << complaint("n1");
  EXPECT_NE(complaint("n1:3,n2:3").find("'n2' has 3 devices, but host 9 of the machine '5 equal devices' has 2"), std::string::npos) << complaint("n1:3,n2:3");
  EXPECT_NE(complaint("n1,n1").find("twice"), std::string::npos);
  EXPECT_NE(complaint("n1,").find("empty"), std::string::npos);
  EXPECT_NE(complaint("n[1-2,4]").find("scontrol show hostnames"), std::string::npos);
  EXPECT_NE(complaint("n1:x,n2").find("NAME:DEVICES"), std::string::npos);
}

}  // namespace
}  // namespace pardnn::cli
