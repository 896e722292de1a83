/// Each subcommand on real graphs: exit codes, the JSON of cli.md, clean standard output.
#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "end_to_end/run_program.hpp"
#include "pardnn/io.hpp"
#include "support/random_graphs.hpp"

namespace pardnn::test {
namespace {

using Json = nlohmann::json;
using SubcommandTest = ProgramTest;

/// Every field that cli.md promises, of the right type.
void expect_result_schema(const Json& json, std::size_t devices) {
  EXPECT_EQ(json.at("format"), "pardnn-result");
  EXPECT_EQ(json.at("version"), 1);
  EXPECT_TRUE(json.at("graph").at("name").is_string());
  EXPECT_EQ(json.at("graph").at("fingerprint").get<std::string>().size(), 32u);
  for (const char* key : {"nodes", "edges"}) EXPECT_TRUE(json.at("graph").at(key).is_number_integer()) << key;
  EXPECT_EQ(json.at("machine").at("devices"), devices);
  for (const char* key : {"method", "policy", "links"}) EXPECT_TRUE(json.at(key).is_string()) << key;
  for (const char* key : {"seeds", "ranks", "threads", "makespan_ns", "lower_bound_ns", "best_bound_ns", "cut_edges", "cut_bytes", "peak_rss_bytes"}) {
    EXPECT_TRUE(json.at(key).is_number_integer()) << key;
  }
  EXPECT_TRUE(json.contains("preset") && json.contains("seed"));
  EXPECT_TRUE(json.at("feasible").is_boolean());
  EXPECT_TRUE(json.at("broken").is_array());
  ASSERT_EQ(json.at("devices").size(), devices);
  for (const Json& device : json.at("devices")) {
    EXPECT_TRUE(device.at("name").is_string());
    for (const char* key : {"capacity_bytes", "usable_bytes", "peak_bytes", "overflow_bytes", "busy_ns", "nodes"}) {
      EXPECT_TRUE(device.at(key).is_number_integer()) << key;
    }
  }
  for (const Json& stage : json.at("stages")) EXPECT_TRUE(stage.at("name").is_string() && stage.at("seconds").is_number());
  EXPECT_TRUE(json.at("elapsed_s").is_number());
  EXPECT_LE(json.at("lower_bound_ns"), json.at("best_bound_ns"));
  EXPECT_LE(json.at("best_bound_ns"), json.at("makespan_ns"));
}

TEST_F(SubcommandTest, PartitionWritesAllFormatsAndTheyAgree) {
  const std::string input = real_graph("pt-gpt2");
  const Finished made = run({"partition", input, "--devices", "4", "--memory", "16GiB", "--preset", "fast", "-o", path("p.h5"), "-o", path("p.tsv"),
                             "--output", path("p.json"), "--json", "-"});
  ASSERT_EQ(made.code, 0) << made.text();
  const Json result = made.json();
  expect_result_schema(result, 4);
  EXPECT_EQ(result["preset"], "fast");
  EXPECT_EQ(result["seed"], 1);
  EXPECT_EQ(result["devices"][0]["capacity_bytes"], 17179869184);
  EXPECT_EQ(result["devices"][0]["usable_bytes"], 15461882265);
  EXPECT_NE(made.err.find("makespan"), std::string::npos) << made.err;
  EXPECT_NE(made.err.find("seed 1"), std::string::npos) << made.err;
  EXPECT_EQ(made.err.find('\r'), std::string::npos);
  for (const char* name : {"p.h5", "p.tsv", "p.json"}) {
    const Finished judged = run({"evaluate", input, path(name), "--devices", "4", "--memory", "16GiB", "--json", "-"});
    ASSERT_EQ(judged.code, 0) << judged.text();
    const Json again = judged.json();
    expect_result_schema(again, 4);
    for (const char* key : {"makespan_ns", "lower_bound_ns", "cut_edges", "cut_bytes", "feasible", "policy", "links"}) EXPECT_EQ(again[key], result[key]) << name << " " << key;
    for (std::size_t d = 0; d < 4; ++d) EXPECT_EQ(again["devices"][d]["peak_bytes"], result["devices"][d]["peak_bytes"]) << name;
  }
  EXPECT_EQ(files(), (std::vector<std::string>{"p.h5", "p.json", "p.tsv"}));
}

TEST_F(SubcommandTest, ProgressNoneIsSilent) {
  const Finished quiet = run({"partition", real_graph("pt-dlrm"), "--devices", "2", "--preset", "fast", "--progress", "none", "--json", path("r.json")});
  EXPECT_EQ(quiet.code, 0);
  EXPECT_EQ(quiet.out, "");
  EXPECT_EQ(quiet.err, "");
  expect_result_schema(Json::parse(read_file(path("r.json"))), 2);
}

// A table or a verdict is the result, no progress: it stays, unless all but errors is unwanted or JSON takes its place.
TEST_F(SubcommandTest, ResultsForPeopleStayWithoutProgress) {
  const std::string input = real_graph("pt-dlrm");
  const Finished table = run({"compare", input, "--devices", "2", "--methods", "single,rr", "--progress", "none"});
  EXPECT_EQ(table.code, 0) << table.text();
  EXPECT_NE(table.err.find("greatest peak"), std::string::npos) << table.err;
  EXPECT_EQ(table.err.find("warning"), std::string::npos) << table.err;
  EXPECT_EQ(run({"compare", input, "--devices", "2", "--methods", "single,rr", "--quiet"}).err, "");
  ASSERT_EQ(run({"partition", input, "--devices", "2", "--preset", "fast", "-o", path("p.h5"), "--quiet"}).err, "");
  const Finished verdict = run({"evaluate", input, path("p.h5"), "--progress", "none"});
  EXPECT_NE(verdict.err.find("feasible     yes"), std::string::npos) << verdict.err;
  EXPECT_EQ(run({"evaluate", input, path("p.h5"), "--progress", "none", "--json", path("r.json")}).err, "");
  EXPECT_EQ(run({"evaluate", input, path("p.h5"), "--quiet"}).err, "");
}

TEST_F(SubcommandTest, WithoutJsonStandardOutputIsEmpty) {
  const Finished made = run({"partition", real_graph("pt-dlrm"), "--devices", "2", "--preset", "fast"});
  EXPECT_EQ(made.code, 0);
  EXPECT_EQ(made.out, "");
  EXPECT_NE(made.err.find("feasible     yes"), std::string::npos) << made.err;
}

TEST_F(SubcommandTest, DoesNotFitIsExitTwoWithTheCapacityThatWould) {
  const std::string input = real_graph("pt-gpt2");
  const Finished made = run({"partition", input, "--devices", "2", "--memory", "100MiB", "--preset", "fast", "-o", path("p.h5"), "--json", "-"});
  ASSERT_EQ(made.code, 2) << made.text();
  const Json result = made.json();
  EXPECT_EQ(result["feasible"], false);
  EXPECT_GT(result["devices"][0]["overflow_bytes"].get<std::int64_t>() + result["devices"][1]["overflow_bytes"].get<std::int64_t>(), 0);
  EXPECT_NE(made.err.find("would fit"), std::string::npos) << made.err;
  const std::string needed = std::to_string(result["capacity_needed_bytes"].get<std::int64_t>());
  EXPECT_EQ(run({"evaluate", input, path("p.h5"), "--devices", "2", "--memory", needed + "B"}).code, 0);
  const std::string one_short = std::to_string(result["capacity_needed_bytes"].get<std::int64_t>() - 1);
  EXPECT_EQ(run({"evaluate", input, path("p.h5"), "--devices", "2", "--memory", one_short + "B"}).code, 2);
}

TEST_F(SubcommandTest, EvaluateTakesPolicyLinksAndMachineFromThePlacement) {
  const std::string input = real_graph("pt-inception");
  const Finished made = run({"partition", input, "--devices", "3", "--bandwidth", "10GB/s", "--links", "ports", "--policy", "priority", "--headroom", "0.2",
                             "--memory", "8GiB", "--preset", "fast", "-o", path("p.h5"), "--json", "-"});
  ASSERT_EQ(made.code, 0) << made.text();
  const Json result = made.json();
  const Finished judged = run({"evaluate", input, path("p.h5"), "--json", "-"});
  ASSERT_EQ(judged.code, 0) << judged.text();
  const Json again = judged.json();
  EXPECT_EQ(again["policy"], "priority");
  EXPECT_EQ(again["links"], "ports");
  EXPECT_EQ(again["makespan_ns"], result["makespan_ns"]);
  EXPECT_EQ(again["devices"][0]["usable_bytes"], result["devices"][0]["usable_bytes"]);
  const Json other = run({"evaluate", input, path("p.h5"), "--policy", "fifo", "--links", "free", "--json", "-"}).json();
  EXPECT_EQ(other["policy"], "fifo");
  EXPECT_EQ(other["links"], "free");
}

TEST_F(SubcommandTest, EvaluateReportsBrokenPlacementsAsNotFeasible) {
  const std::string input = graph("tied", GraphBuilder().node("a", 1).node("b", 1).colocate({"a", "b"}).data());
  write_file(path("p.tsv"), "a\t0\nb\t1\n");
  const Finished judged = run({"evaluate", input, path("p.tsv"), "--devices", "2", "--json", "-"});
  EXPECT_EQ(judged.code, 2) << judged.text();
  EXPECT_EQ(judged.json()["broken"], Json::array({"colocation"}));
}

TEST_F(SubcommandTest, EvaluateRefusesWhatDoesNotFitGraphOrMachine) {
  const std::string input = graph("two", GraphBuilder().node("a", 1).node("b", 1).data());
  write_file(path("far.tsv"), "a\t0\nb\t2\n");
  const Finished far = run({"evaluate", input, path("far.tsv"), "--devices", "2"});
  EXPECT_EQ(far.code, 3);
  EXPECT_NE(far.err.find("'b' is on device 2"), std::string::npos) << far.err;
  write_file(path("short.tsv"), "a\t0\n");
  EXPECT_EQ(run({"evaluate", input, path("short.tsv"), "--devices", "2"}).code, 3);
  ASSERT_EQ(run({"partition", real_graph("pt-dlrm"), "--devices", "2", "--preset", "fast", "-o", path("other.h5")}).code, 0);
  EXPECT_EQ(run({"evaluate", input, path("other.h5"), "--devices", "2"}).code, 3);
}

TEST_F(SubcommandTest, TraceHasNodesAndTransfersInExactMicroseconds) {
  const std::string input = graph("trace", GraphBuilder().node("a<b>&\\", 1500).node("c", 7).edge("a<b>&\\", "c", 10).data());
  write_file(path("p.json"), R"({"format": "pardnn-placement", "version": 1, "placement": {"a<b>&\\": 0, "c": 1}})");
  const Finished judged = run({"evaluate", input, path("p.json"), "--devices", "2", "--bandwidth", "10GB/s", "--latency", "2us", "--trace", path("t.json")});
  ASSERT_EQ(judged.code, 0) << judged.text();
  const Json trace = Json::parse(read_file(path("t.json")));
  std::vector<Json> nodes, transfers;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "X") (event["cat"] == "node" ? nodes : transfers).push_back(event);
  }
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0]["name"], "a<b>&\\");
  EXPECT_EQ(nodes[0]["pid"], 1);
  EXPECT_EQ(nodes[0]["dur"], 1.5);
  EXPECT_EQ(nodes[1]["pid"], 2);
  EXPECT_EQ(nodes[1]["ts"], 3.501);  // 1500 + 2000 + ceil(10 / 10) ns
  EXPECT_EQ(nodes[1]["dur"], 0.007);
  ASSERT_EQ(transfers.size(), 1u);
  EXPECT_EQ(transfers[0]["ts"], 1.5);
  EXPECT_EQ(transfers[0]["dur"], 2.001);
  EXPECT_EQ(transfers[0]["args"]["to"], "gpu1");
}

TEST_F(SubcommandTest, StartIsNeverMadeWorse) {
  const std::string input = real_graph("pt-inception");
  const Finished first = run({"partition", input, "--devices", "2", "-o", path("p.tsv"), "--json", "-"});
  ASSERT_EQ(first.code, 0) << first.text();
  const Finished second = run({"partition", input, "--devices", "2", "--preset", "fast", "--start", path("p.tsv"), "--json", "-"});
  ASSERT_EQ(second.code, 0) << second.text();
  EXPECT_LE(second.json()["makespan_ns"], first.json()["makespan_ns"]);
}

TEST_F(SubcommandTest, ThreadsNeverChangeAResult) {
  const std::string input = real_graph("pt-inception");
  for (const char* threads : {"1", "3"}) {
    ASSERT_EQ(run({"partition", input, "--devices", "3", "--preset", "fast", "--threads", threads, "-o", path(std::string("p") + threads + ".tsv")}).code, 0);
  }
  EXPECT_EQ(read_file(path("p1.tsv")), read_file(path("p3.tsv")));
}

TEST_F(SubcommandTest, CompareMarksTheBestAndIncludesUs) {
  const Finished compared = run({"compare", real_graph("pt-dlrm"), "--devices", "2", "--methods", "single,rr,heft,pardnn-fast", "--json", "-"});
  ASSERT_EQ(compared.code, 0) << compared.text();
  const Json result = compared.json();
  EXPECT_EQ(result["format"], "pardnn-result");
  ASSERT_EQ(result["methods"].size(), 4u);
  std::int64_t least = INT64_MAX;
  std::string best;
  for (const Json& method : result["methods"]) {
    expect_result_schema(method, 2);
    if (method["makespan_ns"].get<std::int64_t>() >= least) continue;
    least = method["makespan_ns"];
    best = method["method"];
  }
  EXPECT_EQ(result["best"], best);
  EXPECT_EQ(result["methods"][3]["method"], "pardnn-fast");
  EXPECT_NE(compared.err.find("* "), std::string::npos) << compared.err;
  EXPECT_NE(compared.err.find("heft"), std::string::npos) << compared.err;
}

TEST_F(SubcommandTest, CompareRefusesUnknownMethodsAndListsTheKnown) {
  const Finished compared = run({"compare", real_graph("pt-dlrm"), "--devices", "2", "--methods", "rr,hefd"});
  EXPECT_EQ(compared.code, 3);
  EXPECT_NE(compared.err.find("did you mean 'heft'? known: single, rr"), std::string::npos) << compared.err;
}

TEST_F(SubcommandTest, InfoOfASmallGraphByHand) {
  // w (residual, 100 B) -> a (3 ns) -> b (4 ns); a -> c (5 ns); control edge b -> c. Longest: a b c = 12.
  const std::string input = graph("info", GraphBuilder().node("w", 0, 100).kind("w", NodeKind::residual).node("a", 3, 10).node("b", 4, 20).node("c", 5, 30, 7)
                                              .edge("w", "a", 100).edge("a", "b", 10).edge("a", "c", 10).edge("b", "c", 0).data());
  const Finished asked = run({"info", input, "--devices", "2", "--bandwidth", "1GB/s", "--latency", "1us", "--json", "-"});
  ASSERT_EQ(asked.code, 0) << asked.text();
  const Json facts = asked.json();
  EXPECT_EQ(facts["graph"]["nodes"], 4);
  EXPECT_EQ(facts["levels"], 4);
  EXPECT_EQ(facts["width"], 1);
  EXPECT_EQ(facts["sources"], 1);
  EXPECT_EQ(facts["sinks"], 1);
  EXPECT_EQ(facts["control_edges"], 1);
  EXPECT_EQ(facts["work_ns"], 12);
  EXPECT_EQ(facts["critical_path_ns"], 12);
  EXPECT_EQ(facts["parallelism"], 1.0);
  EXPECT_EQ(facts["edge_bytes"], 120);
  EXPECT_EQ(facts["residual_bytes"], 100);
  EXPECT_EQ(facts["output_bytes"], 60);
  EXPECT_EQ(facts["single_device_peak_bytes"], 147);  // while c runs: w, a, c and the 7 bytes of workspace; b has no consumer
  EXPECT_EQ(facts["machine"]["communication_ns"], 4 * 1000 + 120);
  EXPECT_EQ(facts["machine"]["critical_path_ns"], 1100 + 3 + 1010 + 4 + 1000 + 5);
}

TEST_F(SubcommandTest, InfoOnRealAndOddGraphs) {
  EXPECT_EQ(run({"info", real_graph("pt-wrn")}).code, 0);
  EXPECT_EQ(run({"info", graph("empty", GraphData{})}).code, 0);
  EXPECT_EQ(run({"info", graph("pinned", GraphBuilder().node("a", 1).pin("a", 5).data())}).code, 0);
}

TEST_F(SubcommandTest, ValidateListsEveryError) {
  EXPECT_EQ(run({"validate", real_graph("pt-unet")}).code, 0);
  write_file(path("bad.json"), R"({"format": "pardnn-graph", "version": 1,
    "nodes": [{"name": "a", "comp": 1, "mem": 1}, {"name": "b", "comp": -1, "mem": 1}, {"name": "c", "comp": 1, "mem": -5}],
    "edges": [{"from": "a", "to": "a", "bytes": 1}, {"from": "b", "to": "c", "bytes": 1}]})");
  const Finished checked = run({"validate", path("bad.json")});
  EXPECT_EQ(checked.code, 3);
  EXPECT_EQ(checked.out, "");
  EXPECT_NE(checked.err.find("/nodes/comp"), std::string::npos) << checked.err;
  EXPECT_NE(checked.err.find("/nodes/mem"), std::string::npos) << checked.err;
  EXPECT_NE(checked.err.find("self loop"), std::string::npos) << checked.err;
  EXPECT_EQ(run({"partition", path("bad.json"), "--devices", "2"}).code, 3);
}

TEST_F(SubcommandTest, GenerateIsSeededAndValid) {
  for (const char* kind : {"mlp", "transformer", "lstm", "wrn", "inception", "random"}) {
    const Finished made = run({"generate", kind, "--nodes", "2000", "--seed", "7", "-o", path("g.h5")});
    ASSERT_EQ(made.code, 0) << kind << " " << made.text();
    ASSERT_EQ(run({"validate", path("g.h5")}).code, 0) << kind;
    ASSERT_EQ(run({"generate", kind, "--nodes", "2000", "--seed", "7", "-o", path("again.h5")}).code, 0);
    EXPECT_EQ(run({"info", path("g.h5"), "--json", "-"}).json()["graph"], run({"info", path("again.h5"), "--json", "-"}).json()["graph"]) << kind;
    ASSERT_EQ(run({"generate", kind, "--nodes", "2000", "--seed", "8", "-o", path("again.h5")}).code, 0);
    EXPECT_NE(run({"info", path("g.h5"), "--json", "-"}).json()["graph"], run({"info", path("again.h5"), "--json", "-"}).json()["graph"]) << kind;
  }
  EXPECT_EQ(run({"generate", "transformr", "-o", path("g.h5")}).code, 3);
  EXPECT_EQ(run({"generate", "mlp", "-o", path("g.txt")}).code, 3);
  EXPECT_EQ(run({"generate", "mlp", "--nodes", "0", "-o", path("g.h5")}).code, 3);
}

TEST_F(SubcommandTest, ConvertGoesThroughEveryFormatAndBack) {
  const Json before = run({"info", real_graph("pt-dlrm"), "--json", "-"}).json()["graph"];
  ASSERT_EQ(run({"convert", real_graph("pt-dlrm"), path("a.json")}).code, 0);
  ASSERT_EQ(run({"convert", path("a.json"), path("b.dot")}).code, 0);
  const Finished last = run({"convert", path("b.dot"), path("c.h5")});
  ASSERT_EQ(last.code, 0) << last.text();
  EXPECT_EQ(run({"info", path("c.h5"), "--json", "-"}).json()["graph"]["fingerprint"], before["fingerprint"]);
  EXPECT_EQ(run({"convert", path("a.json"), path("a.json")}).code, 3);
  EXPECT_EQ(run({"convert", path("a.json"), path("a.txt")}).code, 3);
}

TEST_F(SubcommandTest, ConvertPlacements) {
  const std::string input = real_graph("pt-dlrm");
  ASSERT_EQ(run({"partition", input, "--devices", "3", "--preset", "fast", "-o", path("a.h5"), "-o", path("a.tsv")}).code, 0);
  const Finished made = run({"convert", path("a.h5"), path("b.tsv"), "--graph", input});
  ASSERT_EQ(made.code, 0) << made.text();
  EXPECT_EQ(read_file(path("a.tsv")), read_file(path("b.tsv")));
  ASSERT_EQ(run({"convert", path("b.tsv"), path("c.h5"), "--graph", input}).code, 0);
  EXPECT_EQ(run({"evaluate", input, path("c.h5"), "--devices", "3"}).code, 0);
}

TEST_F(SubcommandTest, ShippedMachinesWorkByName) {
  const Finished made = run({"partition", real_graph("pt-dlrm"), "--machine", "a100-2hosts-8x40gb", "--preset", "fast", "--json", "-"});
  EXPECT_EQ(made.code, 0) << made.text();
  expect_result_schema(made.json(), 16);
}

TEST_F(SubcommandTest, HelpAndVersionGoToStandardOutput) {
  const Finished help = run({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_NE(help.out.find("examples:"), std::string::npos);
  EXPECT_EQ(help.err, "");
  for (const char* name : {"partition", "evaluate", "compare", "info", "validate", "generate", "convert"}) {
    EXPECT_NE(help.out.find(name), std::string::npos);
    const Finished part = run({name, "--help"});
    EXPECT_EQ(part.code, 0);
    EXPECT_NE(part.out.find("example"), std::string::npos) << name;
  }
  const Finished version = run({"--version"});
  EXPECT_EQ(version.code, 0);
  for (const char* word : {"pardnn 0", "HDF5", "oneTBB", "OpenMP", "MPI", "METIS", "Scotch", "64 bits"}) EXPECT_NE(version.out.find(word), std::string::npos) << word;
}

}  // namespace
}  // namespace pardnn::test
