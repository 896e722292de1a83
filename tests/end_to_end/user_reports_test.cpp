/// What users of neighbouring tools ran into (groups A and B of the collection), as far as the command line shows it.
#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "end_to_end/run_program.hpp"
#include "pardnn/io.hpp"
#include "support/random_graphs.hpp"

namespace pardnn::test {
namespace {

using Json = nlohmann::json;

class UserReportTest : public ProgramTest {
 protected:
  Finished partition(const std::string& file, std::vector<std::string> flags) const {
    std::vector<std::string> all{"partition", file, "--json", "-"};
    all.insert(all.end(), flags.begin(), flags.end());
    return run(all);
  }

  /// Devices by node name, as written to a TSV file.
  static std::map<std::string, int> labels(const std::string& file) {
    std::map<std::string, int> devices;
    std::stringstream text(read_file(file));
    for (std::string line; std::getline(text, line);) devices[line.substr(0, line.find('\t'))] = std::stoi(line.substr(line.find('\t') + 1));
    return devices;
  }

  static bool mentions(const Json& warnings, const std::string& part) {
    return std::any_of(warnings.begin(), warnings.end(), [&](const Json& line) { return line.get<std::string>().find(part) != std::string::npos; });
  }
};

std::string numbered(std::string prefix, int number) { return prefix.append(std::to_string(number)); }

/// `count` residuals of `bytes` bytes, named prefix0 ...
GraphBuilder& add_residuals(GraphBuilder& builder, const std::string& prefix, int count, Bytes bytes) {
  for (int i = 0; i < count; ++i) builder.node(numbered(prefix, i), 1, bytes).kind(numbered(prefix, i), NodeKind::residual);
  return builder;
}

TEST_F(UserReportTest, A1OneDeviceIsTrivial) {
  GraphData ring = GraphBuilder().node("a", 1).node("b", 1).node("c", 1).node("d", 1).node("e", 1).node("f", 1).edge("a", "b", 1).edge("b", "c", 1)
                       .edge("c", "d", 1).edge("d", "e", 1).edge("e", "f", 1).edge("a", "f", 1).data();
  const Finished made = partition(graph("ring", ring), {"--devices", "1", "-o", path("p.tsv")});
  ASSERT_EQ(made.code, 0) << made.text();
  EXPECT_EQ(made.json()["cut_edges"], 0);
  EXPECT_EQ(made.json()["makespan_ns"], 6);
  for (const auto& entry : labels(path("p.tsv"))) EXPECT_EQ(entry.second, 0);
}

TEST_F(UserReportTest, A2MoreDevicesThanNodes) {
  const Finished made = partition(graph("chain", chain(3)), {"--devices", "8", "-o", path("p.tsv")});
  ASSERT_EQ(made.code, 0) << made.text();
  const auto devices = labels(path("p.tsv"));
  EXPECT_EQ(devices.size(), 3u);
  std::set<int> used;
  for (const auto& entry : devices) {
    EXPECT_TRUE(entry.second >= 0 && entry.second < 8);
    used.insert(entry.second);
  }
  EXPECT_EQ(made.json()["empty_devices"].size(), 8 - used.size());
}

TEST_F(UserReportTest, A4EveryDeviceIsHeldAgainstItsLimit) {
  RandomGraphOptions options = RandomGraphOptions::plain(900);
  options.max_mem = 1000;
  const std::string input = graph("both", random_graph_data(4, options));
  const std::int64_t alone = run({"info", input, "--json", "-"}).json()["single_device_peak_bytes"];
  for (const std::int64_t percent : {20, 30, 50}) {
    const Finished made = partition(input, {"--devices", "4", "--memory", std::to_string(alone * percent / 100) + "B", "--preset", "fast", "-o", path("p.h5")});
    ASSERT_TRUE(made.code == 0 || made.code == 2) << made.text();
    bool overflows = false;
    const Json made_result = made.json();
    for (const Json& device : made_result["devices"]) {
      EXPECT_EQ(device["overflow_bytes"].get<std::int64_t>(), std::max<std::int64_t>(0, device["peak_bytes"].get<std::int64_t>() - device["usable_bytes"].get<std::int64_t>()));
      overflows = overflows || device["overflow_bytes"] > 0;
    }
    EXPECT_EQ(overflows, made.code == 2) << percent << made.text();
  }
}

TEST_F(UserReportTest, A5DenseGraphWithoutBytes) {
  const Finished made = partition(graph("clique", clique(10)), {"--devices", "2"});
  ASSERT_EQ(made.code, 0) << made.text();
  EXPECT_EQ(made.json()["cut_bytes"], 0);
  EXPECT_EQ(made.json()["makespan_ns"], 10);  // a clique is a chain: control edges order all its nodes
  EXPECT_EQ(made.out.find("null,\n  \"ratio\""), std::string::npos);
  EXPECT_TRUE(made.json()["ratio"].is_number());
}

TEST_F(UserReportTest, A6IsolatedNodesEvenOutTheLoad) {
  GraphBuilder builder;
  builder.node("p0", 1000).node("p1", 1000).node("p2", 1000).edge("p0", "p1", 1).edge("p1", "p2", 1);
  for (int i = 0; i < 5; ++i) builder.node(numbered("i", i), 1000);
  const std::string input = graph("isolated", builder.data());
  for (int devices = 2; devices <= 6; ++devices) {
    const Finished made = partition(input, {"--devices", std::to_string(devices), "-o", path("p.tsv")});
    ASSERT_EQ(made.code, 0) << made.text();
    EXPECT_EQ(labels(path("p.tsv")).size(), 8u);
    EXPECT_EQ(made.json()["makespan_ns"], std::max(3000, (8 + devices - 1) / devices * 1000)) << devices;
  }
}

TEST_F(UserReportTest, A9ParallelEdgesAreAddedAndCounted) {
  GraphData data;
  data.indptr = {0, 4, 4};
  data.indices = {1, 1, 1, 1};
  data.bytes = {5, 7, 11, 0};
  data.comp = {1, 1};
  data.mem = {1, 1};
  const Finished made = partition(graph("parallel", data), {"--devices", "2"});
  ASSERT_EQ(made.code, 0) << made.text();
  EXPECT_EQ(made.json()["graph"]["edges"], 1);
  EXPECT_TRUE(mentions(made.json()["warnings"], "3 parallel edges merged into others, their bytes added")) << made.err;
  EXPECT_EQ(run({"info", path("parallel.h5"), "--json", "-"}).json()["edge_bytes"], 23);
}

TEST_F(UserReportTest, A11StarsAndDuplicatesEnd) {
  const Finished made = partition(graph("star", star(100'000)), {"--devices", "4", "--preset", "fast"});
  EXPECT_EQ(made.code, 0) << made.text();
  EXPECT_LT(made.json()["elapsed_s"].get<double>(), 60);
  // Ten nodes, each edge a thousand times: one is left of each.
  GraphData copies;
  copies.indptr = {0};
  for (std::int64_t u = 0; u < 10; ++u) {
    for (std::int64_t v = u + 1; v < 10; ++v) {
      copies.indices.insert(copies.indices.end(), 1000, v);
      copies.bytes.insert(copies.bytes.end(), 1000, 3);
    }
    copies.indptr.push_back(static_cast<std::int64_t>(copies.indices.size()));
    copies.comp.push_back(5);
    copies.mem.push_back(1);
  }
  const Finished merged = partition(graph("copies", copies), {"--devices", "4"});
  EXPECT_EQ(merged.code, 0) << merged.text();
  EXPECT_EQ(merged.json()["graph"]["edges"], 45);
  EXPECT_LT(merged.json()["elapsed_s"].get<double>(), 60);
}

TEST_F(UserReportTest, A12LargeBytesAreExactAndOverflowIsRefused) {
  const Bytes big = Bytes{1} << 40;
  GraphBuilder builder;
  builder.node("a", 1).node("b", 1).node("c", 1).node("d", 1).pin("a", 0).pin("b", 1).pin("c", 1).pin("d", 0);
  builder.edge("a", "b", big + 1).edge("a", "c", big + 2).edge("b", "d", big + 3).edge("a", "d", big);
  const Finished made = partition(graph("large", builder.data()), {"--devices", "2"});
  ASSERT_EQ(made.code, 0) << made.text();
  EXPECT_EQ(made.json()["cut_edges"], 3);
  EXPECT_EQ(made.json()["cut_bytes"], 3 * big + 6);

  write_file(path("sum.json"), R"({"format": "pardnn-graph", "version": 1, "nodes": [{"name": "a", "comp": 1, "mem": 0}, {"name": "b", "comp": 1, "mem": 0}, {"name": "c", "comp": 1, "mem": 0}],
    "edges": [{"from": "a", "to": "b", "bytes": 2305843009213693952}, {"from": "b", "to": "c", "bytes": 2305843009213693952}]})");
  const Finished refused = partition(path("sum.json"), {"--devices", "2"});
  EXPECT_EQ(refused.code, 3) << refused.text();
  EXPECT_NE(refused.err.find("/edges/bytes"), std::string::npos) << refused.err;
}

TEST_F(UserReportTest, A19NodesWithoutMemoryArePlacedAndLimitsHold) {
  GraphBuilder builder;
  add_residuals(builder, "heavy", 26, 1);
  for (int i = 0; i < 71; ++i) builder.node(numbered("light", i), 1000);
  const Finished made = partition(graph("zeros", builder.data()), {"--devices", "2", "--memory", "29B,25B", "--headroom", "0"});
  ASSERT_EQ(made.code, 0) << made.text();
  EXPECT_LE(made.json()["devices"][0]["peak_bytes"], 29);
  EXPECT_LE(made.json()["devices"][1]["peak_bytes"], 25);
  EXPECT_LE(made.json()["makespan_ns"].get<double>(), 1.05 * made.json()["lower_bound_ns"].get<double>() + 1000);
}

TEST_F(UserReportTest, A20AHeavyNodeIsExplained) {
  GraphBuilder builder;
  builder.node("whale", 6000);
  for (int i = 0; i < 40; ++i) builder.node(numbered("n", i), 100);
  const Finished made = partition(graph("whale", builder.data()), {"--devices", "4"});
  ASSERT_EQ(made.code, 0) << made.text();
  EXPECT_TRUE(mentions(made.json()["warnings"], "'whale' takes 60.0 % of all compute time")) << made.err;
  EXPECT_TRUE(mentions(made.json()["warnings"], "faster than 6000 ns, an even share would be 2500 ns")) << made.err;
  EXPECT_EQ(made.json()["makespan_ns"], 6000);
}

TEST_F(UserReportTest, A22ResultsAreInTheOrderOfTheInput) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    RandomGraphOptions options;
    options.nodes = 60;
    options.names = true;
    options.parallel_edges = 0;
    options.devices = 3;
    const GraphData data = random_graph_data(seed, options);
    const Finished made = partition(graph("shuffled", data), {"--devices", "3", "--preset", "fast", "-o", path("p.tsv")});
    ASSERT_EQ(made.code, 0) << made.text();
    std::vector<int> device;
    std::stringstream text(read_file(path("p.tsv")));
    for (std::string line; std::getline(text, line);) {
      EXPECT_EQ(line.substr(0, line.find('\t')), data.names[static_cast<std::int64_t>(device.size())]);
      device.push_back(std::stoi(line.substr(line.find('\t') + 1)));
    }
    ASSERT_EQ(static_cast<std::int64_t>(device.size()), data.num_nodes());
    std::int64_t cut_edges = 0, cut_bytes = 0;
    for (std::size_t u = 0; u < device.size(); ++u) {
      std::set<std::int64_t> targets;  // parallel edges are one
      for (std::int64_t e = data.indptr[u]; e < data.indptr[u + 1]; ++e) {
        const std::int64_t target = data.indices[static_cast<std::size_t>(e)];
        if (device[u] == device[static_cast<std::size_t>(target)]) continue;
        targets.insert(target);
        cut_bytes += data.bytes[static_cast<std::size_t>(e)];
      }
      cut_edges += static_cast<std::int64_t>(targets.size());
    }
    EXPECT_EQ(made.json()["cut_edges"], cut_edges) << seed;
    EXPECT_EQ(made.json()["cut_bytes"], cut_bytes) << seed;
    for (int d = 0; d < 3; ++d) EXPECT_EQ(made.json()["devices"][static_cast<std::size_t>(d)]["nodes"], std::count(device.begin(), device.end(), d));
  }
}

TEST_F(UserReportTest, A23WhatCannotFitEndsAtOnceWithItsReason) {
  GraphBuilder builder;
  add_residuals(builder, "w", 5, 10'000'000'000);
  const Finished made = partition(graph("full", builder.data()), {"--devices", "2", "--memory", "12GB", "--headroom", "0"});
  EXPECT_EQ(made.code, 2) << made.text();
  EXPECT_EQ(made.json()["cannot_fit"], true);
  EXPECT_LT(made.json()["elapsed_s"].get<double>(), 20);
  EXPECT_NE(made.json()["proof"], "");
  EXPECT_NE(made.err.find("no placement fits"), std::string::npos) << made.err;
}

TEST_F(UserReportTest, A27LongChainsNeedNoStack) {
  const std::string input = graph("chain", chain(1'000'000));
  const Finished made = run({"partition", input, "--devices", "2", "--preset", "fast", "--json", "-"}, "ulimit -s 512");
  ASSERT_EQ(made.code, 0) << made.text();
  EXPECT_EQ(made.json()["makespan_ns"], 1'000'000);
}

TEST_F(UserReportTest, A29ExactlyTightMemoryIsFoundOrRefuted) {
  GraphBuilder builder;
  add_residuals(builder, "w", 16, 9);
  const std::string input = graph("tight", builder.data());
  const Finished fits = partition(input, {"--devices", "16", "--memory", "10B", "--headroom", "0"});
  EXPECT_EQ(fits.code, 0) << fits.text();
  const Json fits_result = fits.json();
  for (const Json& device : fits_result["devices"]) EXPECT_EQ(device["peak_bytes"], 9);
  const Finished refuted = partition(input, {"--devices", "16", "--memory", "8B", "--headroom", "0"});
  EXPECT_EQ(refuted.code, 2) << refuted.text();
  EXPECT_EQ(refuted.json()["cannot_fit"], true);
}

TEST_F(UserReportTest, B1SmallDevicesAreUsedToo) {
  GraphBuilder builder;
  add_residuals(builder, "big", 2, 9);
  add_residuals(builder, "small", 6, 1);
  const Finished made = partition(graph("uneven", builder.data()), {"--devices", "3", "--memory", "4B,10B,10B", "--headroom", "0"});
  ASSERT_EQ(made.code, 0) << made.text();
  EXPECT_EQ(made.json()["devices"][0]["peak_bytes"], 4);
}

TEST_F(UserReportTest, B3HeadroomIsKeptOnEveryDevice) {
  GraphBuilder builder;
  add_residuals(builder, "w", 20, Bytes{1} << 30);
  const Finished made = partition(graph("model", builder.data()), {"--devices", "4", "--memory", "16GiB", "--headroom", "0.1"});
  ASSERT_EQ(made.code, 0) << made.text();
  const Json made_result = made.json();
  for (const Json& device : made_result["devices"]) {
    EXPECT_EQ(device["usable_bytes"], 15461882265);
    EXPECT_LE(device["peak_bytes"], device["usable_bytes"]);
    EXPECT_GT(device["nodes"], 0);
  }
}

TEST_F(UserReportTest, B6TiedNodesShareADevice) {
  GraphBuilder builder;
  for (int i = 0; i < 20; ++i) builder.node(numbered("n", i), 10, 10);
  for (int i = 0; i + 1 < 20; ++i) builder.edge(numbered("n", i), numbered("n", i + 1), 10);
  builder.colocate({"n0", "n19"});
  const Finished made = partition(graph("tied", builder.data()), {"--devices", "4", "-o", path("p.tsv")});
  ASSERT_EQ(made.code, 0) << made.text();
  auto devices = labels(path("p.tsv"));
  EXPECT_EQ(devices["n0"], devices["n19"]);
  EXPECT_EQ(made.json()["broken"], Json::array());
}

TEST_F(UserReportTest, B10DecimalAndBinaryUnitsDecide) {
  const std::string input = graph("one", GraphBuilder().node("w", 1, 8'000'000'000).kind("w", NodeKind::residual).data());
  EXPECT_EQ(partition(input, {"--devices", "1", "--memory", "7.6GiB", "--headroom", "0"}).code, 0);
  const Finished decimal = partition(input, {"--devices", "1", "--memory", "7.6GB", "--headroom", "0"});
  EXPECT_EQ(decimal.code, 2);
  EXPECT_NE(decimal.err.find("7600000000 B (7.08 GiB)"), std::string::npos) << decimal.err;
}

TEST_F(UserReportTest, B11NodesWithoutTimeCountWithTheirMemory) {
  GraphBuilder builder;
  for (int i = 0; i < 4; ++i) builder.node(numbered("constant", i), 0, 10).kind(numbered("constant", i), NodeKind::residual);
  for (int i = 0; i < 4; ++i) builder.node(numbered("use", i), 1000).edge(numbered("constant", i), numbered("use", i), 10);
  const std::string input = graph("constants", builder.data());
  const Finished fits = partition(input, {"--devices", "2", "--memory", "20B", "--headroom", "0", "-o", path("p.tsv")});
  ASSERT_EQ(fits.code, 0) << fits.text();
  EXPECT_EQ(labels(path("p.tsv")).size(), 8u);
  const Json result = fits.json();
  for (const Json& device : result["devices"]) EXPECT_EQ(device["peak_bytes"], 20);
  const Finished short_of_one = partition(input, {"--devices", "2", "--memory", "19B", "--headroom", "0"});
  EXPECT_EQ(short_of_one.code, 2);
  EXPECT_EQ(short_of_one.json()["cannot_fit"], true);
}

TEST_F(UserReportTest, B12AGroupPinnedToTwoDevicesIsRefusedWithBothNodes) {
  GraphBuilder builder;
  builder.node("a", 1, 1).pin("a", 0).node("b", 1, 1).pin("b", 1).edge("a", "b", 1).colocate({"a", "b"});
  const Finished refused = partition(graph("torn", builder.data()), {"--devices", "2"});
  EXPECT_EQ(refused.code, 3);
  for (const char* part : {"/nodes/fixed", "'a' is pinned to device 0", "'b' to device 1"}) EXPECT_NE(refused.err.find(part), std::string::npos) << refused.err;
}

TEST_F(UserReportTest, B18HeavyEndsAreEvenedOutAndPinsHold) {
  GraphBuilder builder;
  for (int i = 0; i < 8; ++i) {
    const bool end = i == 0 || i == 7;
    builder.node(numbered("w", i), 0, end ? 30 : 10).kind(numbered("w", i), NodeKind::residual).node(numbered("n", i), 1000, 1);
    builder.edge(numbered("w", i), numbered("n", i), end ? 30 : 10).colocate({numbered("w", i), numbered("n", i)});
    if (i > 0) builder.edge(numbered("n", i - 1), numbered("n", i), 1);
  }
  builder.pin("n3", 2);
  const Finished made = partition(graph("ends", builder.data()), {"--devices", "3", "--memory", "45B", "--headroom", "0", "-o", path("p.tsv")});
  ASSERT_EQ(made.code, 0) << made.text();
  EXPECT_EQ(labels(path("p.tsv"))["n3"], 2);
  EXPECT_NE(labels(path("p.tsv"))["w0"], labels(path("p.tsv"))["w7"]);
}

TEST_F(UserReportTest, B21TheFullestDeviceIsReportedNotTheMean) {
  GraphBuilder builder;
  add_residuals(builder, "w", 4, 100);
  const std::string input = graph("uneven", builder.data());
  write_file(path("by_hand.tsv"), "w0\t0\nw1\t0\nw2\t0\nw3\t1\n");
  const Finished judged = run({"evaluate", input, path("by_hand.tsv"), "--devices", "2", "--memory", "250B", "--headroom", "0", "--json", "-"});
  EXPECT_EQ(judged.code, 2);
  const Json devices = judged.json()["devices"];
  EXPECT_EQ(devices[0]["peak_bytes"], 300);
  EXPECT_EQ(devices[0]["overflow_bytes"], 50);
  EXPECT_EQ(devices[1]["peak_bytes"], 100);
}

TEST_F(UserReportTest, B17EmptyDevicesAreListed) {
  GraphBuilder independent;
  for (int i = 0; i < 5; ++i) independent.node(numbered("n", i), 1000);
  const Finished spread = partition(graph("equal", independent.data()), {"--devices", "4"});
  ASSERT_EQ(spread.code, 0) << spread.text();
  EXPECT_EQ(spread.json()["makespan_ns"], 2000);
  EXPECT_EQ(spread.json()["empty_devices"].size(), 0u);

  const Finished one = partition(graph("chain5", chain(5, 1000, 1000)), {"--devices", "4"});
  ASSERT_EQ(one.code, 0) << one.text();
  EXPECT_EQ(one.json()["makespan_ns"], 5000);
  EXPECT_EQ(one.json()["empty_devices"].size(), 3u);
  EXPECT_TRUE(mentions(one.json()["warnings"], "3 of 4 devices have no node")) << one.err;
}

TEST_F(UserReportTest, B22UnequalMemoryIsUsedAndWrongListsAreRefused) {
  GraphBuilder builder;
  add_residuals(builder, "w", 48, Bytes{1} << 30);
  const std::string input = graph("unequal", builder.data());
  const Finished made = partition(input, {"--devices", "3", "--memory", "8GiB,16GiB,24GiB", "--headroom", "0"});
  ASSERT_EQ(made.code, 0) << made.text();
  EXPECT_EQ(made.json()["devices"][0]["nodes"], 8);
  EXPECT_EQ(made.json()["devices"][2]["nodes"], 24);
  EXPECT_EQ(partition(input, {"--devices", "3", "--memory", "8GiB,16GiB"}).code, 3);
  EXPECT_EQ(partition(input, {"--devices", "3", "--memory", "8GiB,16GiB,0GiB"}).code, 3);
  write_file(path("twins.json"), R"({"devices": [{"name": "a"}, {"name": "a"}], "links": {"same_host": {"latency": 0, "bandwidth": 1}}})");
  const Finished twins = partition(input, {"--machine", path("twins.json")});
  EXPECT_EQ(twins.code, 3);
  EXPECT_NE(twins.err.find("two devices are named 'a'"), std::string::npos) << twins.err;
}

TEST_F(UserReportTest, B23DevicesWithoutParametersAreFlagged) {
  GraphBuilder builder;
  builder.node("w", 0, 8).kind("w", NodeKind::residual).pin("w", 0).node("a", 1000).pin("a", 1).node("b", 1000).pin("b", 0);
  const Finished made = partition(graph("bare", builder.data()), {"--devices", "2"});
  ASSERT_EQ(made.code, 0) << made.text();
  EXPECT_EQ(made.json()["devices"][0]["parameter_free"], false);
  EXPECT_EQ(made.json()["devices"][1]["parameter_free"], true);
  EXPECT_TRUE(mentions(made.json()["warnings"], "devices without parameters")) << made.err;
}

}  // namespace
}  // namespace pardnn::test
