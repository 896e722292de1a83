// Placements in three encodings: what is written reads back, and what does not fit the graph is refused.
// Rows A22, A32, C20 of the user reports.
#include <gtest/gtest.h>
#include <hdf5.h>
#include <unistd.h>

#include <cstdlib>
#include <numeric>

#include "files.hpp"
#include "pardnn/io.hpp"

namespace pardnn::test {
namespace {

PackedNames pack(const std::vector<std::string>& names) {
  PackedNames packed;
  packed.offsets.push_back(0);
  for (const std::string& name : names) {
    packed.bytes.insert(packed.bytes.end(), name.begin(), name.end());
    packed.offsets.push_back(static_cast<std::int64_t>(packed.bytes.size()));
  }
  return packed;
}

const PackedNames kNames = pack({"conv 1:0", "<b>&\"quoted\"\\", "\xE2\x82\xAC/sum", "last,one"});

PlacementFile four_nodes() {
  PlacementFile placement;
  placement.graph_name = "four \"nodes\"";
  placement.graph_fingerprint = "00ff";
  placement.devices = 3;
  placement.makespan = 12'345;
  placement.feasible = true;
  placement.seed = UINT64_MAX;
  placement.policy = "priority";
  placement.links = "ports";
  placement.headroom = "0.1";
  placement.machine = "{\"devices\": []}";
  placement.device_reports.resize(3);
  placement.device_reports[1].name = "gpu<1>";
  placement.device_reports[1].capacity = 100;
  placement.device_reports[1].peak = 77;
  placement.device = {2, 0, 0, 1};
  placement.order = {0, 1, 3, 2};
  placement.start_ns = {0, 0, 10, 5};
  placement.priority = {9, -8, INT64_MIN, INT64_MAX};
  return placement;
}

class PlacementTest : public testing::Test {
 protected:
  PlacementFile read(const std::string& name, const std::string& fingerprint = "00ff") {
    return read_placement_file(folder_ / name, 4, kNames, fingerprint);
  }
  std::string fault(const std::string& name, const std::string& content = "") {
    if (!content.empty()) spill(folder_ / name, content);
    const std::string text = input_error([&] { read(name); });
    EXPECT_EQ(text.substr(0, (folder_ / name).size() + 2), (folder_ / name) + ": ") << text;
    return text;
  }
  std::string json(const std::string& members) { return "{\"format\": \"pardnn-placement\", \"version\": 1" + members + "}"; }

  TempFolder folder_;
};

TEST_F(PlacementTest, Hdf5KeepsEverything) {
  const PlacementFile written = four_nodes();
  write_placement_file(folder_ / "p.h5", written, kNames);
  const PlacementFile back = read("p.h5");
  EXPECT_EQ(back.graph_name, written.graph_name);
  EXPECT_EQ(back.graph_fingerprint, "00ff");
  EXPECT_EQ(back.devices, 3);
  EXPECT_EQ(back.makespan, 12'345);
  EXPECT_TRUE(back.feasible);
  EXPECT_EQ(back.seed, UINT64_MAX);
  EXPECT_EQ(back.policy, "priority");
  EXPECT_EQ(back.links, "ports");
  EXPECT_EQ(back.headroom, "0.1");
  EXPECT_EQ(back.machine, written.machine);
  EXPECT_EQ(back.device, written.device);
  EXPECT_EQ(back.order, written.order);
  EXPECT_EQ(back.start_ns, written.start_ns);
  EXPECT_EQ(back.priority, written.priority);
}

TEST_F(PlacementTest, Hdf5StoresTheTypesOfTheFormat) {
  write_placement_file(folder_ / "p.h5", four_nodes(), kNames);
  const hid_t file = must(H5Fopen((folder_ / "p.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT));
  for (const auto& expected : {std::pair("/device", H5T_STD_I32LE), std::pair("/order", H5T_STD_I64LE), std::pair("/start_ns", H5T_STD_I64LE), std::pair("/priority", H5T_STD_I64LE)}) {
    const hid_t dataset = must(H5Dopen2(file, expected.first, H5P_DEFAULT)), type = must(H5Dget_type(dataset));
    EXPECT_GT(H5Tequal(type, expected.second), 0) << expected.first;
    H5Tclose(type);
    H5Dclose(dataset);
  }
  H5Fclose(file);
}

TEST_F(PlacementTest, LongMachineIsKept) {
  PlacementFile placement = four_nodes();
  placement.machine = "[" + std::string(200'000, ' ') + "]";
  write_placement_file(folder_ / "p.h5", placement, kNames);
  EXPECT_EQ(read("p.h5").machine, placement.machine);
}

TEST_F(PlacementTest, OptionalPartsMayBeAbsent) {
  PlacementFile placement;
  placement.device = {0, 0, 1, 0};
  write_placement_file(folder_ / "p.h5", placement, kNames);
  const PlacementFile back = read("p.h5");
  EXPECT_EQ(back.device, placement.device);
  EXPECT_EQ(back.devices, 2);
  EXPECT_TRUE(back.order.empty());
  EXPECT_TRUE(back.policy.empty());
}

TEST_F(PlacementTest, EmptyGraphHasAPlacement) {
  for (const char* name : {"p.h5", "p.tsv", "p.json"}) {
    write_placement_file(folder_ / name, PlacementFile{}, PackedNames{});
    EXPECT_TRUE(read_placement_file(folder_ / name, 0, PackedNames{}, "00ff").device.empty()) << name;
  }
}

TEST_F(PlacementTest, TsvIsOneLineANodeInNodeOrder) {
  write_placement_file(folder_ / "p.tsv", four_nodes(), kNames);
  EXPECT_EQ(slurp(folder_ / "p.tsv"), "conv 1:0\t2\n<b>&\"quoted\"\\\t0\n\xE2\x82\xAC/sum\t0\nlast,one\t1\n");
  EXPECT_EQ(read("p.tsv").device, four_nodes().device);
  EXPECT_EQ(read("p.tsv").devices, 3);
}

TEST_F(PlacementTest, JsonKeepsDevicesRunAndPlacement) {
  write_placement_file(folder_ / "p.json", four_nodes(), kNames);
  const PlacementFile back = read("p.json");
  EXPECT_EQ(back.graph_name, "four \"nodes\"");
  EXPECT_EQ(back.graph_fingerprint, "00ff");
  EXPECT_EQ(back.device, four_nodes().device);
  EXPECT_EQ(back.devices, 3);
  EXPECT_EQ(back.makespan, 12'345);
  EXPECT_TRUE(back.feasible);
  EXPECT_EQ(back.seed, UINT64_MAX);
  EXPECT_EQ(back.policy, "priority");
  EXPECT_EQ(back.links, "ports");
  EXPECT_EQ(back.headroom, "0.1");
  const std::string text = slurp(folder_ / "p.json");
  EXPECT_SAYS(text, "{\"index\": 1, \"name\": \"gpu<1>\", \"memory_bytes\": 100, ");
  EXPECT_SAYS(text, "\"peak_bytes\": 77");
}

// A22: the file speaks of the user's nodes, in whatever order.
TEST_F(PlacementTest, LinesMayComeInAnyOrder) {
  spill(folder_ / "p.tsv", "last,one\t1\r\n\xE2\x82\xAC/sum\t0\r\nconv 1:0\t2\r\n<b>&\"quoted\"\\\t0");
  EXPECT_EQ(read("p.tsv").device, four_nodes().device);
  spill(folder_ / "p.json", json(R"(, "placement": {"last,one": 1, "€/sum": 0, "conv 1:0": 2, "<b>&\"quoted\"\\": 0})"));
  EXPECT_EQ(read("p.json").device, four_nodes().device);
}

TEST_F(PlacementTest, NamelessNodesAreNamedByTheirIndex) {
  PlacementFile placement;
  for (DeviceId n = 0; n < 12; ++n) placement.device.push_back(n % 5);
  for (const char* name : {"p.tsv", "p.json"}) {
    write_placement_file(folder_ / name, placement, PackedNames{});
    EXPECT_EQ(read_placement_file(folder_ / name, 12, PackedNames{}, "").device, placement.device) << name;
  }
  spill(folder_ / "p.tsv", "00\t1\n");
  EXPECT_SAYS(input_error([&] { read_placement_file(folder_ / "p.tsv", 12, PackedNames{}, ""); }), "line 1: the graph has no node '00'");
}

TEST_F(PlacementTest, ManyNodesInReverseAreFoundByName) {
  constexpr std::int64_t kNodes = 50'000;
  std::vector<std::string> names;
  std::string lines;
  for (std::int64_t n = 0; n < kNodes; ++n) names.push_back("layer/" + std::to_string(n));
  for (std::int64_t n = kNodes - 1; n >= 0; --n) lines += names[static_cast<std::size_t>(n)] + "\t" + std::to_string(n % 7) + "\n";
  spill(folder_ / "p.tsv", lines);
  const PlacementFile back = read_placement_file(folder_ / "p.tsv", kNodes, pack(names), "");
  bool right = true;
  for (std::int64_t n = 0; n < kNodes; ++n) right &= back.device[static_cast<std::size_t>(n)] == n % 7;
  EXPECT_TRUE(right);
}

TEST_F(PlacementTest, PlacementOfAnotherGraphIsRefused) {
  for (const char* name : {"p.h5", "p.json"}) {
    write_placement_file(folder_ / name, four_nodes(), kNames);
    const std::string text = input_error([&] { read(name, "abcd"); });
    EXPECT_SAYS(text, "is a placement of another graph ('four \\x22nodes\\x22', fingerprint 00ff), this one has fingerprint abcd");
  }
  // Even if its nodes have other names.
  const PackedNames other = pack({"a", "b", "c", "d"});
  EXPECT_SAYS(input_error([&] { read_placement_file(folder_ / "p.json", 4, other, "abcd"); }), "another graph");
}

TEST_F(PlacementTest, TsvFaultsNameTheLine) {
  EXPECT_SAYS(fault("p.tsv", "conv 1:0\t2\nwho?\t0\n"), "line 2: the graph has no node 'who?'");
  EXPECT_SAYS(fault("p.tsv", "conv 1:0\t2\nconv 1:0\t2\n"), "line 2: node 'conv 1:0' is placed twice");
  EXPECT_SAYS(fault("p.tsv", "conv 1:0\t2\n"), "has no device");
  EXPECT_SAYS(fault("p.tsv", "conv 1:0 2\n"), "line 1: expected 'name<TAB>device', found 'conv 1:0 2'");
  EXPECT_SAYS(fault("p.tsv", "\n"), "line 1: expected 'name<TAB>device', found ''");
  EXPECT_SAYS(fault("p.tsv", "\x1B[2J\t1\n"), "line 1: the graph has no node '\\x1b[2J'");
  for (const char* number : {"", "x", "1.5", "1 ", "+1", "0x1", "99999999999999999999", "1\t2"}) {
    EXPECT_SAYS(fault("p.tsv", std::string("conv 1:0\t") + number + "\n"), "line 1: node 'conv 1:0': device '");
  }
  EXPECT_SAYS(fault("p.tsv", "conv 1:0\t-1\n"), "device -1 is out of range");
  EXPECT_SAYS(fault("p.tsv", "conv 1:0\t2147483648\n"), "device 2147483648 is out of range");
}

TEST_F(PlacementTest, JsonFaultsNamePlaceOrByte) {
  EXPECT_SAYS(fault("p.json", "{\"format\": \"pardnn-placement\", }"), "not valid JSON at byte 32");
  EXPECT_SAYS(fault("p.json", "{\"format\": \"pardnn-placement\", \"placement\": {\"conv 1:0\": 1"), "not valid JSON at byte");
  EXPECT_SAYS(fault("p.json", std::string("{\"a\": \"\xFF\"}")), "not valid JSON at byte 8");
  EXPECT_SAYS(fault("p.json", "[1, 2]"), "expected a JSON object");
  EXPECT_SAYS(fault("p.json", "7"), "expected a JSON object");
  EXPECT_SAYS(fault("p.json", "{\"placement\": {}}"), "/format: is missing");
  EXPECT_SAYS(fault("p.json", "{\"format\": \"other\"}"), "/format: is 'other'");
  EXPECT_SAYS(fault("p.json", json("")), "/placement: is missing");
  EXPECT_SAYS(fault("p.json", "{\"format\": \"pardnn-placement\", \"placement\": {}}"), "/version: is missing, expected 1");
  EXPECT_SAYS(fault("p.json", "{\"format\": \"pardnn-placement\", \"version\": 2}"), "/version: is 2");
  EXPECT_SAYS(fault("p.json", json(", \"placement\": {\"conv 1:0\": 1}")), "/placement: node '<b>&\\x22quoted\\x22\\x5c' has no device");
  EXPECT_SAYS(fault("p.json", json(", \"placement\": {\"conv 1:0\": 1, \"conv 1:0\": 1}")), "/placement: node 'conv 1:0' is placed twice");
  EXPECT_SAYS(fault("p.json", json(", \"placement\": {\"who\": 1}")), "/placement: the graph has no node 'who'");
  EXPECT_SAYS(fault("p.json", json(", \"placement\": {\"conv 1:0\": -1}")), "device -1 is out of range");
  EXPECT_SAYS(fault("p.json", json(", \"placement\": {\"conv 1:0\": 18446744073709551615}")), "18446744073709551615 is out of range");
  for (const char* value : {"1.5", "\"1\"", "null", "true"}) {
    EXPECT_SAYS(fault("p.json", json(std::string(", \"placement\": {\"conv 1:0\": ") + value + "}")), "/placement: 'conv 1:0': has the wrong type of value");
  }
  EXPECT_SAYS(fault("p.json", json(", \"placement\": {\"conv 1:0\": [1]}")), "expected a device index");
  EXPECT_SAYS(fault("p.json", json(", \"placement\": [1]")), "/placement: expected an object");
  EXPECT_SAYS(fault("p.json", json(", \"policy\": \"lifo\"")), "/policy: 'lifo' is unknown");
  EXPECT_SAYS(fault("p.json", json(", \"version\": 1")), "/version: appears twice");
}

TEST_F(PlacementTest, DeepJsonDoesNotOverflowTheStack) {
  EXPECT_SAYS(fault("p.json", std::string(1'000'000, '[')), "expected a JSON object");
  EXPECT_SAYS(fault("p.json", json(", \"x\": " + std::string(1'000'000, '['))), "not valid JSON at byte");
}

TEST_F(PlacementTest, MembersThatNobodyKnowsAreIgnored) {
  PlacementFile expected = four_nodes();
  write_placement_file(folder_ / "p.json", expected, kNames);
  std::string text = slurp(folder_ / "p.json");
  text.insert(1, "\"future\": {\"placement\": {\"who\": 5}, \"list\": [1, {\"a\": null}, 1e400]}, ");
  const std::string refused = fault("q.json", text);  // 1e400 is no number of JSON's parser
  EXPECT_SAYS(refused, "not valid JSON");
  text.replace(text.find("1e400"), 5, "1e40");
  spill(folder_ / "q.json", text);
  EXPECT_EQ(read("q.json").device, expected.device);
}

/// A placement file in HDF5 with one dataset or attribute changed.
std::string hdf5_fault(const TempFolder& folder, const std::function<void(hid_t)>& change) {
  write_placement_file(folder / "p.h5", four_nodes(), kNames);
  const hid_t file = must(H5Fopen((folder / "p.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
  change(file);
  H5Fclose(file);
  return input_error([&] { read_placement_file(folder / "p.h5", 4, kNames, "00ff"); });
}

void set_array(hid_t file, const char* path, const std::vector<std::int64_t>& values) {
  H5Ldelete(file, path, H5P_DEFAULT);
  GraphFile::write_array(file, path, values, Stored{});
}

TEST_F(PlacementTest, Hdf5FaultsNameTheDataset) {
  EXPECT_SAYS(hdf5_fault(folder_, [](hid_t f) { H5Ldelete(f, "/device", H5P_DEFAULT); }), "/device: dataset is missing");
  EXPECT_SAYS(hdf5_fault(folder_, [](hid_t f) { set_array(f, "/device", {0, 1, 2}); }), "/device: has length 3, expected 4");
  EXPECT_SAYS(hdf5_fault(folder_, [](hid_t f) { set_array(f, "/device", {0, 1, 2, -1}); }), "/device: node 'last,one': device -1 is out of range");
  EXPECT_SAYS(hdf5_fault(folder_, [](hid_t f) { set_array(f, "/device", {0, 3, 2, 1}); }), "device 3 is out of range, the file says 3 devices");
  EXPECT_SAYS(hdf5_fault(folder_, [](hid_t f) { set_array(f, "/device", {0, std::int64_t{1} << 40, 2, 1}); }), "device 1099511627776 is out of range");
  EXPECT_SAYS(hdf5_fault(folder_, [](hid_t f) { set_array(f, "/order", {0, 1, 2, 2}); }), "/order: node 'last,one': rank 2 is taken");
  EXPECT_SAYS(hdf5_fault(folder_, [](hid_t f) { set_array(f, "/order", {0, 1, 2, 4}); }), "/order: node 'last,one': rank 4 is out of range");
  EXPECT_SAYS(hdf5_fault(folder_, [](hid_t f) { set_array(f, "/priority", {1}); }), "/priority: has length 1, expected 4");
  EXPECT_SAYS(hdf5_fault(folder_, [](hid_t f) { H5Adelete(f, "format"); }), "/format: attribute is missing");
  EXPECT_SAYS(hdf5_fault(folder_, [](hid_t f) { H5Adelete(f, "policy"), put_text(f, "policy", "lifo"); }), "/policy: is 'lifo'");
  EXPECT_SAYS(hdf5_fault(folder_, [](hid_t f) { H5Adelete(f, "links"), put_text(f, "links", "none"); }), "/links: is 'none'");
}

TEST_F(PlacementTest, HeadroomMayBeANumber) {
  write_placement_file(folder_ / "p.h5", four_nodes(), kNames);
  const hid_t file = must(H5Fopen((folder_ / "p.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT));
  H5Adelete(file, "headroom");
  const double headroom = 0.25;
  put_attribute(file, "headroom", H5T_NATIVE_DOUBLE, &headroom);
  H5Fclose(file);
  EXPECT_EQ(read("p.h5").headroom, "0.25");
}

// A32
TEST_F(PlacementTest, OtherFilesAreRefused) {
  spill(folder_ / "p.h5", "conv\t1\n");
  EXPECT_SAYS(fault("p.h5"), "is not an HDF5 file, expected a placement in HDF5");
  five_nodes().write(folder_ / "p.h5");
  EXPECT_SAYS(fault("p.h5"), "/format: is 'pardnn-graph', expected 'pardnn-placement'");
  EXPECT_SAYS(fault("p.txt", "x"), "placements are written as .h5, .tsv or .json");
  EXPECT_SAYS(fault("none.tsv"), "No such file or directory");
  EXPECT_SAYS(input_error([&] { write_placement_file(folder_ / "p.csv", four_nodes(), kNames); }), "placements are written as .h5, .tsv or .json");
}

// C20
TEST_F(PlacementTest, SameFileIsWrittenTwiceInOneProcess) {
  for (const char* name : {"p.h5", "p.tsv", "p.json"}) {
    write_placement_file(folder_ / name, four_nodes(), kNames);
    PlacementFile second = four_nodes();
    second.device = {1, 1, 1, 1};
    write_placement_file(folder_ / name, second, kNames);
    EXPECT_EQ(read(name).device, second.device);
  }
  EXPECT_EQ(folder_.content(), (std::vector<std::string>{"p.h5", "p.json", "p.tsv"}));
}

TEST_F(PlacementTest, FullDiskNamesTheFileAndItsCause) {
  PlacementFile placement;
  placement.device.assign(1000, 0);
  std::filesystem::create_symlink("/dev/full", folder_ / "p.tsv");
  EXPECT_EQ(system_error([&] { write_placement_file(folder_ / "p.tsv", placement, PackedNames{}); }), (folder_ / "p.tsv") + ": cannot be written: No space left on device");
  std::filesystem::create_symlink("/dev/full", folder_ / "p.h5");
  EXPECT_EQ(system_error([&] { write_placement_file(folder_ / "p.h5", placement, PackedNames{}); }), (folder_ / "p.h5") + ": cannot be written: No space left on device");
}

}  // namespace
}  // namespace pardnn::test
