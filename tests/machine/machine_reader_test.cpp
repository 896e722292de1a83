#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <unistd.h>

#include <gtest/gtest.h>

#include "machine/shipped_machines.hpp"
#include "pardnn/error.hpp"
#include "pardnn/machine.hpp"

namespace pardnn {
namespace {

constexpr const char* kTwoHosts = R"({
  "name": "two hosts",
  "devices": [
    {"count": 2, "host": 0, "memory": "40GiB", "speed": 1.0, "name": "host0/gpu{i}"},
    {"count": 1, "host": 1, "memory": 1000, "speed": 0.75, "name": "host1/gpu{i}"}
  ],
  "links": {
    "same_host":  {"latency": "3us",  "bandwidth": "250GB/s"},
    "cross_host": {"latency": 12000, "bandwidth": "200Gbit/s"}
  }
})";

std::string refusal(const std::string& text) {
  try {
    parse_machine(text, "m.json");
    return {};
  } catch (const InputError& error) {
    return error.what();
  }
}

/// A machine of one device, with `members` put into the document.
std::string one_device(const std::string& device, const std::string& rest = "") {
  return R"({"devices": [{)" + device + "}]" + rest + "}";
}

#define EXPECT_REFUSED(text, part) EXPECT_NE(refusal(text).find(part), std::string::npos) << refusal(text)

TEST(MachineReader, ReadsHostsUnitsAndNames) {
  const Machine machine = parse_machine(kTwoHosts, "m.json");
  ASSERT_EQ(machine.num_devices(), 3);
  EXPECT_EQ(machine.name, "two hosts");
  EXPECT_EQ(machine.devices[1].name, "host0/gpu1");
  EXPECT_EQ(machine.devices[2].name, "host1/gpu2");  // {i} counts over the whole machine
  EXPECT_EQ(machine.devices[0].capacity, 40LL << 30);
  EXPECT_EQ(machine.devices[2].capacity, 1000);
  EXPECT_EQ(machine.devices[2].speed, 750'000);
  EXPECT_EQ(machine.latency[machine.link(0, 1)], 3'000);
  EXPECT_EQ(machine.bandwidth[machine.link(0, 1)], 250'000'000'000);
  EXPECT_EQ(machine.latency[machine.link(2, 0)], 12'000);
  EXPECT_EQ(machine.bandwidth[machine.link(0, 2)], 25'000'000'000);
}

TEST(MachineReader, ReadsMatricesRowIsSender) {
  const Machine machine = parse_machine(R"({"devices": [{"count": 2}],
    "links": {"latency_ns": [[0, 7], [9, 0]], "bandwidth_bytes_per_s": [[0, 100], ["1GB/s", 0]]}})", "m.json");
  EXPECT_EQ(machine.latency[machine.link(0, 1)], 7);
  EXPECT_EQ(machine.latency[machine.link(1, 0)], 9);
  EXPECT_EQ(machine.bandwidth[machine.link(0, 1)], 100);
  EXPECT_EQ(machine.bandwidth[machine.link(1, 0)], 1'000'000'000);
  EXPECT_EQ(machine.devices[1].name, "gpu1");
  EXPECT_EQ(machine.devices[1].capacity, kUnlimited);
}

TEST(MachineReader, SpeedsAreTheDecimalsOfTheFile) {
  const auto speed = [](const std::string& text) { return parse_machine(one_device("\"speed\": " + text), "m").devices[0].speed; };
  EXPECT_EQ(speed("1"), 1'000'000);
  EXPECT_EQ(speed("0.1"), 100'000);
  EXPECT_EQ(speed("0.000001"), 1);
  EXPECT_EQ(speed("1e-5"), 10);
  EXPECT_EQ(speed("999999.999999"), 999'999'999'999);
  EXPECT_REFUSED(one_device("\"speed\": 0.1234567"), "devices[0].speed");
  EXPECT_REFUSED(one_device("\"speed\": 0"), "speed must be more than 0");
  EXPECT_REFUSED(one_device("\"speed\": -1.5"), "devices[0].speed");
  EXPECT_REFUSED(one_device("\"speed\": 1e300"), "devices[0].speed");
  EXPECT_REFUSED(one_device("\"speed\": 2000000"), "devices[0].speed");
  EXPECT_REFUSED(one_device("\"speed\": \"fast\""), "expected a number");
}

TEST(MachineReader, UnknownKeyNamesTheNearest) {
  EXPECT_REFUSED(one_device("\"memroy\": \"1GiB\""), "devices[0]: unknown key 'memroy'; did you mean 'memory'?");
  EXPECT_REFUSED(one_device("", R"(, "link": {})"), "unknown key 'link'; did you mean 'links'?");
  EXPECT_REFUSED(one_device("", R"(, "links": {"samehost": {}})"), "links: unknown key 'samehost'; did you mean 'same_host'?");
  EXPECT_REFUSED(one_device("", R"(, "links": {"same_host": {"bandwith": 1}})"), "links.same_host: unknown key 'bandwith'; did you mean 'bandwidth'?");
}

TEST(MachineReader, CommentsAreAllowed) {
  EXPECT_EQ(refusal(R"({"comment": "source", "devices": [{"count": 2, "comment": "x"}],
                        "links": {"comment": "y", "same_host": {"latency": 0, "bandwidth": 1, "comment": "z"}}})"), "");
}

TEST(MachineReader, QuantitiesKeepTheirRules) {
  EXPECT_REFUSED(one_device("\"memory\": \"32\""), "32GB (32000000000 bytes) or 32GiB (34359738368 bytes)");
  EXPECT_REFUSED(one_device("\"memory\": 0"), "memory must be more than 0");
  EXPECT_REFUSED(one_device("\"memory\": -5"), "devices[0].memory");
  EXPECT_REFUSED(one_device("\"memory\": 1.5e9"), "devices[0].memory");
  EXPECT_REFUSED(one_device("\"memory\": 18446744073709551615"), "devices[0].memory");
  EXPECT_REFUSED(one_device("\"memory\": null"), "devices[0].memory");
  EXPECT_REFUSED(R"({"devices": [{"count": 2}], "links": {"same_host": {"latency": "5us", "bandwidth": 0}}})", "bandwidth must be at least one byte");
  EXPECT_REFUSED(R"({"devices": [{"count": 2}], "links": {"same_host": {"latency": -1, "bandwidth": 5}}})", "links.same_host.latency");
}

TEST(MachineReader, ShapesAreChecked) {
  EXPECT_REFUSED(R"({"devices": [{"count": 2}], "links": {"latency_ns": [[0, 1]], "bandwidth_bytes_per_s": [[0, 1], [1, 0]]}})",
                 "links.latency_ns: expected a list of 2 entries, one for each device, not 1");
  EXPECT_REFUSED(R"({"devices": [{"count": 2}], "links": {"latency_ns": [[0, 1], [1]], "bandwidth_bytes_per_s": [[0, 1], [1, 0]]}})",
                 "links.latency_ns[1]: expected a list of 2 entries");
  EXPECT_REFUSED(R"({"devices": [{"count": 2}], "links": {"latency_ns": [[0, 1], [1, 0]]}})", "'bandwidth_bytes_per_s' is missing");
  EXPECT_REFUSED(R"({"devices": [{"count": 2}], "links": {"same_host": {"latency": 1, "bandwidth": 1}, "latency_ns": []}})", "not both");
  EXPECT_REFUSED(R"({"devices": [{"count": 2}]})", "'links' is missing");
  EXPECT_REFUSED(R"({"devices": [{"host": 0}, {"host": 1}], "links": {"same_host": {"latency": 1, "bandwidth": 1}}})", "'cross_host' is missing");
  EXPECT_REFUSED(R"({"devices": []})", "expected a list of devices");
  EXPECT_REFUSED(R"({})", "'devices' is missing");
  EXPECT_REFUSED(R"([1])", "expected an object");
}

TEST(MachineReader, DeviceCountsAreLimited) {
  EXPECT_REFUSED(one_device("\"count\": 0"), "devices[0].count");
  EXPECT_REFUSED(one_device("\"count\": 65536"), "devices[0].count");
  EXPECT_REFUSED(one_device("\"count\": 1.0"), "devices[0].count");
  EXPECT_REFUSED(R"({"devices": [{"count": 4096}, {"count": 4096}]})", "more than 4096 devices");
}

TEST(MachineReader, DuplicateNamesAreRefused) {
  EXPECT_REFUSED(one_device(R"("count": 2, "name": "gpu")", R"(, "links": {"same_host": {"latency": 1, "bandwidth": 1}})"), "two devices are named 'gpu'");
  EXPECT_REFUSED(one_device(R"("name": "")"), "name is empty");
}

TEST(MachineReader, BrokenJsonIsOneEscapedLine) {
  for (const std::string text : {"", "{", "\x1b[31m", "{\"name\": \"a\xff\"}", "{\"name\": \"a\", \"name\": \"b\"}", "nul", "{\"devices\": NaN}"}) {
    const std::string message = refusal(text);
    EXPECT_NE(message.find("machine m.json: "), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_EQ(message.find('\x1b'), std::string::npos) << message;
  }
  const std::string open(1'000'000, '['), close(1'000'000, ']');
  EXPECT_REFUSED(open, "more than 64 deep");
  EXPECT_REFUSED("{\"name\": \"a\", \"comment\": " + open + close + "}", "more than 64 deep");
  EXPECT_REFUSED("{\"name\": \"a\", \"name\": \"b\"}", "the key 'name' stands twice in one object");
}

TEST(MachineReader, ShippedMachinesAreFoundByName) {
  ASSERT_EQ(shipped_machines().size(), 4u);
  for (const ShippedMachine& shipped : shipped_machines()) {
    const Machine machine = read_machine(std::string(shipped.name));
    EXPECT_FALSE(machine.name.empty());
    EXPECT_NE(shipped.json.find("\"comment\""), std::string_view::npos) << shipped.name;
  }
  const Machine dgx1 = read_machine("dgx1-8xv100");
  ASSERT_EQ(dgx1.num_devices(), 8);
  std::int64_t links = 0;  // 24 NVLinks of 23.95 GB/s, each in two directions
  for (const BytesPerSecond bandwidth : dgx1.bandwidth) links += bandwidth > 9'000'000'000 ? bandwidth / 23'950'000'000 : 0;
  EXPECT_EQ(links, 48);
  EXPECT_EQ(read_machine("dgx2-16xv100-32gb").num_devices(), 16);
  EXPECT_EQ(read_machine("h100-host-8x80gb").num_devices(), 8);
  const Machine hosts = read_machine("a100-2hosts-8x40gb");
  ASSERT_EQ(hosts.num_devices(), 16);
  EXPECT_GT(hosts.bandwidth[hosts.link(0, 7)], hosts.bandwidth[hosts.link(7, 8)]);
}

TEST(MachineReader, ReadsFilesAndNamesMissingOnes) {
  const std::string file = testing::TempDir() + "pardnn_machine_reader_test.json";
  std::ofstream(file) << kTwoHosts;
  EXPECT_EQ(read_machine(file).num_devices(), 3);
  std::remove(file.c_str());
  try {
    read_machine("dgx2-16xv100");
    FAIL() << "a missing machine was accepted";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'dgx2-16xv100-32gb'"), std::string::npos) << error.what();
  }
  EXPECT_THROW(read_machine(testing::TempDir()), InputError);
  int ends[2];  // as in --machine <(generate-machine)
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], kTwoHosts, std::string_view(kTwoHosts).size()), static_cast<ssize_t>(std::string_view(kTwoHosts).size()));
  close(ends[1]);
  EXPECT_EQ(read_machine("/dev/fd/" + std::to_string(ends[0])).num_devices(), 3);
  close(ends[0]);
  EXPECT_THROW(read_machine("/dev/null"), InputError);
}

}  // namespace
}  // namespace pardnn
