/// `pardnn plan` and `pardnn report` as a user runs them.
#include <csignal>
#include <filesystem>
#include <set>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

#include "end_to_end/run_program.hpp"
#include "pardnn/io.hpp"
#include "support/random_graphs.hpp"

namespace pardnn::test {
namespace {

using Json = nlohmann::json;

class PlanTest : public ProgramTest {
 protected:
  std::string training_graph() {
    const Finished made = run({"generate", "transformer", "--nodes", "1500", "-o", path("g.h5")});
    EXPECT_EQ(made.code, 0) << made.text();
    return path("g.h5");
  }
};

constexpr const char* kTwoHosts = R"({"name": "two hosts", "devices": [{"count": 2, "host": 0, "memory": "40GiB", "name": "a{i}"}, {"count": 2, "host": 1, "memory": "40GiB", "name": "b{i}"}],
  "links": {"same_host": {"latency": "3us", "bandwidth": "250GB/s"}, "cross_host": {"latency": "12us", "bandwidth": "23GB/s"}}})";

TEST_F(PlanTest, RanksEverySplitAndWritesTheChosenPlan) {
  const std::string input = training_graph();
  write_file(path("m.json"), kTwoHosts);
  const Finished made = run({"plan", input, "--machine", path("m.json"), "--preset", "fast", "--hosts", "n3:2,n1:2", "-o", path("plan.json"), "--json", "-"});
  ASSERT_TRUE(made.code == 0 || made.code == 2) << made.text();
  const Json all = made.json();
  EXPECT_EQ(all["format"], "pardnn-plans");
  std::set<std::pair<int, int>> splits;
  for (const Json& row : all["rows"]) splits.emplace(row["replicas"].get<int>(), row["devices_per_replica"].get<int>());
  EXPECT_EQ(splits, (std::set<std::pair<int, int>>{{2, 1}, {4, 1}, {1, 2}, {2, 2}, {1, 3}, {1, 4}}));
  const Json& best = all["rows"][all["chosen"].get<std::size_t>()];
  for (const Json& row : all["rows"]) {
    EXPECT_TRUE(row["feasible"] == false || row["samples_per_second"] <= best["samples_per_second"]) << row;
    EXPECT_GE(row["step_ns"], row["step_alone_ns"].get<std::int64_t>() * 9 / 10);
    EXPECT_EQ(row["reduced_bytes"] == 0, row["replicas"] == 1);
  }
  const Json plan = Json::parse(read_file(path("plan.json")));
  EXPECT_EQ(plan["format"], "pardnn-plan");
  EXPECT_EQ(plan["version"], 1);
  EXPECT_EQ(plan["graph"]["fingerprint"], all["graph"]["fingerprint"]);
  EXPECT_EQ(plan["step_ns"], best["step_ns"]);
  const std::size_t nodes = plan["graph"]["nodes"].get<std::size_t>(), devices = plan["devices_per_replica"].get<std::size_t>();
  ASSERT_EQ(plan["placement"].size(), nodes);
  EXPECT_EQ(std::set<std::int64_t>(plan["order"].begin(), plan["order"].end()).size(), nodes) << "every rank of a start once";
  for (const Json& device : plan["placement"]) EXPECT_LT(device.get<std::size_t>(), devices);
  ASSERT_EQ(plan["ranks"].size(), plan["replicas"].get<std::size_t>() * devices);
  std::set<int> used;
  for (std::size_t r = 0; r < plan["ranks"].size(); ++r) {
    const Json& rank = plan["ranks"][r];
    EXPECT_EQ(rank["rank"], r);
    EXPECT_EQ(rank["replica"], r / devices);
    EXPECT_EQ(rank["device"], r % devices);
    EXPECT_TRUE(used.insert(rank["machine_device"].get<int>()).second);
    EXPECT_EQ(rank["host_name"], rank["host"] == 0 ? "n3" : "n1");
    EXPECT_EQ(rank["local_device"], rank["machine_device"].get<int>() % 2);
  }
  EXPECT_NE(made.err.find("samples/s"), std::string::npos) << made.err;
}

TEST_F(PlanTest, PlacementsAreFilesThatEvaluateTakes) {
  const std::string input = training_graph();
  write_file(path("m.json"), kTwoHosts);
  const Finished made = run({"plan", input, "--machine", path("m.json"), "--preset", "fast", "--devices-per-replica", "2,1", "--placements", path(""), "-o", path("plan.json")});
  ASSERT_EQ(made.code, 0) << made.text();
  const Json plan = Json::parse(read_file(path("plan.json")));
  ASSERT_TRUE(plan["placement"].is_string());
  EXPECT_EQ(run({"evaluate", input, path(plan["placement"].get<std::string>())}).code, 0);
  for (const char* name : {"2x1.h5", "4x1.h5", "1x2.h5", "2x2.h5"}) EXPECT_NE(read_file(path(name)), "") << name;
}

TEST_F(PlanTest, TheSameOnAnyNumberOfThreads) {
  const std::string input = training_graph();
  std::string first;
  for (const char* threads : {"1", "3"}) {
    ASSERT_EQ(run({"plan", input, "--devices", "4", "--memory", "40GiB", "--preset", "fast", "--threads", threads, "-o", path("plan.json")}).code, 0);
    const std::string plan = read_file(path("plan.json"));
    if (first.empty()) first = plan;
    EXPECT_EQ(plan, first);
  }
}

TEST_F(PlanTest, AGraphWithoutGradientsHasOneReplica) {
  const std::string input = graph("g", chain(5, 100, 10));
  const Finished made = run({"plan", input, "--devices", "2", "--preset", "fast", "--json", "-"});
  ASSERT_EQ(made.code, 0) << made.text();
  EXPECT_NE(made.err.find("/nodes/gradient_of"), std::string::npos) << made.err;
  const Json rows = made.json()["rows"];
  for (const Json& row : rows) EXPECT_EQ(row["replicas"], 1);
}

TEST_F(PlanTest, NothingFitsIsExitCodeTwo) {
  const std::string input = training_graph();
  const Finished made = run({"plan", input, "--devices", "2", "--memory", "1MiB", "--preset", "fast", "-o", path("plan.json")});
  EXPECT_EQ(made.code, 2) << made.text();
  EXPECT_EQ(Json::parse(read_file(path("plan.json")))["feasible"], false);
}

TEST_F(PlanTest, WrongUseIsOneLine) {
  const std::string input = graph("g", chain(5, 100, 10));
  const auto expect_refused = [&](std::vector<std::string> more, const std::string& part) {
    std::vector<std::string> arguments{"plan", input, "--devices", "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Finished made = run(arguments);
    EXPECT_EQ(made.code, 3) << made.text();
    EXPECT_NE(made.err.find(part), std::string::npos) << made.err;
  };
  expect_refused({"--bucket", "0B"}, "--bucket");
  expect_refused({"--bucket", "25"}, "--bucket");
  expect_refused({"--devices-per-replica", "3"}, "--devices-per-replica");
  expect_refused({"--devices-per-replica", "1,"}, "--devices-per-replica");
  expect_refused({"--hosts", "a,b"}, "--hosts");
  expect_refused({"-o", path("plan.txt")}, ".json");
  expect_refused({"--placements", path("nowhere")}, "--placements");
  expect_refused({"--preset", "quick"}, "quick");
}

TEST_F(PlanTest, ReportIsOnePage) {
  const std::string input = training_graph();
  ASSERT_EQ(run({"partition", input, "--devices", "4", "--preset", "fast", "-o", path("p.h5")}).code, 0);
  const Finished made = run({"report", input, path("p.h5"), "-o", path("r.html")});
  ASSERT_EQ(made.code, 0) << made.text();
  const std::string page = read_file(path("r.html"));
  EXPECT_EQ(page.rfind("<!DOCTYPE html>", 0), 0u);
  EXPECT_LT(page.size(), 2'000'000u);
  EXPECT_EQ(run({"report", input, path("p.h5")}).code, 3) << "where to?";
  EXPECT_EQ(run({"report", input, path("p.h5"), "-o", path("r.pdf")}).code, 3);
  EXPECT_EQ(run({"report", input, path("p.h5"), "-o", input}).code, 3);
}

TEST_F(PlanTest, AReportNeedsTheDevicesThatNodesArePinnedTo) {
  const std::string input = graph("g", GraphBuilder().node("a", 5, 1).node("b", 5, 1).edge("a", "b", 1).pin("b", 3).data());
  write_file(path("p.tsv"), "a\t0\nb\t1\n");
  const Finished made = run({"report", input, path("p.tsv"), "--devices", "2", "-o", path("r.html")});
  EXPECT_EQ(made.code, 3) << made.text();
  EXPECT_NE(made.err.find("/nodes/fixed"), std::string::npos) << made.err;
}

// SIGTERM ends a plan with what is known by then: all files whole, the exit code says why.
TEST_F(PlanTest, ASignalEndsItWithTheRowsSoFar) {
  ASSERT_EQ(run({"generate", "transformer", "--nodes", "20000", "-o", path("g.h5")}).code, 0);
  const pid_t process = start({"plan", path("g.h5"), "--devices", "8", "--preset", "strong", "--placements", path(""), "-o", path("plan.json"), "--json", path("rows.json")});
  // The first split is judged once its placement is there; the second is a long search.
  for (int tries = 0; tries < 3000 && !std::filesystem::exists(path("8x1.h5")); ++tries) usleep(100'000);
  kill(process, SIGTERM);
  const Finished made = wait(process);
  EXPECT_EQ(made.code, 128 + SIGTERM) << made.text();
  const Json rows = Json::parse(read_file(path("rows.json")));
  EXPECT_EQ(rows["stopped_by"], "signal 15");
  EXPECT_LT(rows["rows"].size(), 8u);
  EXPECT_EQ(Json::parse(read_file(path("plan.json")))["format"], "pardnn-plan");
}

}  // namespace
}  // namespace pardnn::test
