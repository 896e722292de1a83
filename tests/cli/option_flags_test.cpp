#include "cli/option_flags.hpp"

#include <string>

#include <gtest/gtest.h>

#include "pardnn/error.hpp"

namespace pardnn::cli {
namespace {

MachineFlags devices(std::int64_t count) {
  MachineFlags flags;
  flags.devices = count;
  return flags;
}

std::string refusal(const MachineFlags& flags) {
  try {
    machine_of(flags);
    return {};
  } catch (const InputError& error) {
    return error.what();
  }
}

#define EXPECT_REFUSED(flags, part) EXPECT_NE(refusal(flags).find(part), std::string::npos) << refusal(flags)

TEST(MachineFlags, DefaultsAreThoseOfTheContract) {
  const Machine machine = machine_of(devices(3));
  EXPECT_EQ(machine.num_devices(), 3);
  EXPECT_EQ(machine.devices[0].capacity, kUnlimited);
  EXPECT_EQ(machine.bandwidth[machine.link(0, 1)], 150'000'000'000);
  EXPECT_EQ(machine.latency[machine.link(0, 1)], 5'000);
  EXPECT_EQ(machine.headroom, 100'000);
  EXPECT_EQ(machine.links, Links::free);
}

TEST(MachineFlags, EachFlagCounts) {
  MachineFlags flags = devices(2);
  flags.memory = "7.6GB";
  flags.bandwidth = "200Gbit/s";
  flags.latency = "1.5us";
  flags.headroom = "0.05";
  flags.links = "ports";
  const Machine machine = machine_of(flags);
  EXPECT_EQ(machine.devices[1].capacity, 7'600'000'000);
  EXPECT_EQ(machine.bandwidth[machine.link(1, 0)], 25'000'000'000);
  EXPECT_EQ(machine.latency[machine.link(1, 0)], 1'500);
  EXPECT_EQ(machine.usable(0), 7'220'000'000);
  EXPECT_EQ(machine.links, Links::ports);
}

TEST(MachineFlags, MemoryMayBeAListOfTheRightLength) {
  MachineFlags flags = devices(3);
  flags.memory = "8GiB,16GiB,24GiB";
  const Machine machine = machine_of(flags);
  EXPECT_EQ(machine.devices[0].capacity, 8LL << 30);
  EXPECT_EQ(machine.devices[2].capacity, 24LL << 30);
  flags.memory = "8GiB,16GiB";
  EXPECT_REFUSED(flags, "--memory: 2 sizes for 3 devices");
  flags.memory = "8GiB,0B,24GiB";
  EXPECT_REFUSED(flags, "more than 0 bytes");
  flags.memory = "8GiB,,24GiB";
  EXPECT_REFUSED(flags, "--memory: size ''");
}

TEST(MachineFlags, WrongValuesNameTheFlag) {
  MachineFlags flags = devices(2);
  flags.memory = "32";
  EXPECT_REFUSED(flags, "--memory: size '32': no unit; write 32GB (32000000000 bytes) or 32GiB (34359738368 bytes)");
  flags = devices(2);
  flags.memory = "0GiB";
  EXPECT_REFUSED(flags, "more than 0 bytes");
  flags = devices(2);
  flags.bandwidth = "0GB/s";
  EXPECT_REFUSED(flags, "--bandwidth");
  flags = devices(2);
  flags.latency = "5";
  EXPECT_REFUSED(flags, "--latency: time '5'");
  flags = devices(2);
  flags.links = "port";
  EXPECT_REFUSED(flags, "did you mean 'ports'?");
  for (const char* headroom : {"1", "1.5", "-0.1", "0.1234567", "10%", ""}) {
    flags = devices(2);
    flags.headroom = headroom;
    EXPECT_REFUSED(flags, "--headroom");
  }
  for (const std::int64_t count : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{4097}, std::int64_t{1} << 32}) EXPECT_REFUSED(devices(count), "--devices");
}

TEST(MachineFlags, OneMachineOnly) {
  EXPECT_REFUSED(MachineFlags{}, "no machine");
  MachineFlags both = devices(2);
  both.machine = "dgx1-8xv100";
  EXPECT_REFUSED(both, "not both");
  MachineFlags file;
  file.machine = "dgx1-8xv100";
  EXPECT_EQ(machine_of(file).num_devices(), 8);
  file.headroom = "0";
  file.links = "ports";
  EXPECT_EQ(machine_of(file).headroom, 0);
  EXPECT_EQ(machine_of(file).links, Links::ports);
  file.memory = "1GiB";
  EXPECT_REFUSED(file, "go with --devices");
}

TEST(Words, EachHasItsMeaning) {
  EXPECT_EQ(parse_policy("fifo"), Policy::fifo);
  EXPECT_EQ(parse_policy("priority"), Policy::priority);
  EXPECT_EQ(parse_preset("default"), Preset::standard);
  EXPECT_STREQ(word_for(Preset::standard), "default");
  EXPECT_STREQ(word_for(Links::ports), "ports");
  EXPECT_THROW(parse_preset("standard"), InputError);
  EXPECT_THROW(parse_policy(""), InputError);
}

TEST(Decimal, IsTheShortest) {
  EXPECT_EQ(decimal(100'000), "0.1");
  EXPECT_EQ(decimal(0), "0");
  EXPECT_EQ(decimal(1), "0.000001");
  EXPECT_EQ(decimal(1'250'000), "1.25");
}

}  // namespace
}  // namespace pardnn::cli
