/// Wrong usage and wrong input: one line on standard error, exit code 3 (4 where the system fails), nothing written.
#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "end_to_end/run_program.hpp"
#include "support/random_graphs.hpp"

namespace pardnn::test {
namespace {

class WrongUseTest : public ProgramTest {
 protected:
  /// One line that contains `part`, exit code `code`, and no output file.
  void expect_refused(const std::vector<std::string>& arguments, const std::string& part, int code = 3) {
    const std::vector<std::string> before = files();
    const Finished finished = run(arguments);
    EXPECT_EQ(finished.code, code) << finished.text();
    EXPECT_EQ(finished.out, "");
    EXPECT_NE(finished.err.find(part), std::string::npos) << finished.text();
    EXPECT_EQ(std::count(finished.err.begin(), finished.err.end(), '\n'), 1) << finished.err;
    EXPECT_EQ(finished.err.rfind("pardnn: error: ", 0), 0u) << finished.err;
    EXPECT_EQ(files(), before);
  }
};

TEST_F(WrongUseTest, Usage) {
  const std::string input = real_graph("pt-dlrm");
  expect_refused({}, "subcommand");
  expect_refused({"partitoin", input}, "did you mean 'partition'?");
  expect_refused({"partition"}, "graph is required");
  expect_refused({"partition", input}, "no machine");
  expect_refused({"partition", input, "--devices", "2", "--memroy", "1GiB"}, "unknown flag '--memroy'; did you mean '--memory'?");
  expect_refused({"partition", input, "--devices", "x"}, "--devices");
  expect_refused({"partition", input, "--devices", "0"}, "--devices 0");
  expect_refused({"partition", input, "--devices", "2", "--memory", "32"}, "32GB (32000000000 bytes) or 32GiB (34359738368 bytes)");
  expect_refused({"partition", input, "--devices", "2", "--memory", ""}, "--memory");
  expect_refused({"partition", input, "--devices", "2", "--seed", "-1"}, "--seed");
  expect_refused({"partition", input, "--devices", "2", "--seeds", "0"}, "--seeds");
  expect_refused({"partition", input, "--devices", "2", "--threads", "0"}, "--threads");
  expect_refused({"partition", input, "--devices", "2", "--time-limit", "60"}, "--time-limit: time '60': no unit; write 60us or 60ms");
  expect_refused({"partition", input, "--devices", "2", "--time-limit", "0s"}, "--time-limit");
  expect_refused({"partition", input, "--devices", "2", "--preset", "best"}, "fast, default, strong");
  expect_refused({"partition", input, "--devices", "2", "--policy", "lifo"}, "did you mean 'fifo'?");
  expect_refused({"partition", input, "--devices", "2", "--progress", "loud"}, "--progress");
  expect_refused({"partition", input, "--machine", "dgx9"}, "shipped: dgx1-8xv100");
  expect_refused({"partition", input, "extra", "--devices", "2"}, "unexpected 'extra'");
}

TEST_F(WrongUseTest, Outputs) {
  const std::string input = real_graph("pt-dlrm");
  const std::string before = read_file(input);
  expect_refused({"partition", input, "--devices", "2", "-o", input}, "is also an input");
  EXPECT_EQ(read_file(input), before);
  expect_refused({"partition", input, "--devices", "2", "-o", path("p.xyz")}, ".h5, .tsv, .json");
  expect_refused({"partition", input, "--devices", "2", "-o", path("none/p.h5")}, "there is no folder");
  expect_refused({"partition", input, "--devices", "2", "-o", path("p.h5"), "-o", path("p.h5")}, "twice");
  expect_refused({"partition", input, "--devices", "2", "-o", "/proc/self/p.h5"}, "takes no new file", 4);
  expect_refused({"partition", input, "--devices", "2", "--json", path("none/r.json")}, "there is no folder");
  expect_refused({"evaluate", input, input, "--devices", "2", "--trace", path("t.txt")}, ".json");
}

TEST_F(WrongUseTest, StandardOutputThatTakesNothingIsExitFour) {
  const Finished full = run({"partition", real_graph("pt-dlrm"), "--devices", "2", "--preset", "fast", "-q", "--json", "-"}, "exec >/dev/full");
  EXPECT_EQ(full.code, 4) << full.text();
  EXPECT_NE(full.err.find("standard output cannot be written"), std::string::npos) << full.err;
}

// A32: files of another format are named as such, for every subcommand that reads a graph.
TEST_F(WrongUseTest, OtherFilesAreNoGraphs) {
  write_file(path("metis.graph"), "3 2\n2\n1 3\n2\n");
  write_file(path("a.npz"), std::string("PK\x03\x04\x14\x00\x00\x00", 8) + std::string(100, 'x'));
  write_file(path("empty.h5"), "");
  write_file(path("text.h5"), "not an HDF5 file\n");
  for (const std::string& file : {path("metis.graph"), path("a.npz"), path("empty.h5"), path("text.h5"), path("missing.h5"), testing::TempDir()}) {
    for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{{"partition", file, "--devices", "2"}, {"info", file}, {"compare", file, "--devices", "2"}}) {
      const Finished finished = run(command);
      EXPECT_EQ(finished.code, 3) << file << " " << finished.text();
      EXPECT_NE(finished.err.find("pardnn: error: "), std::string::npos) << finished.err;
      EXPECT_EQ(std::count(finished.err.begin(), finished.err.end(), '\n'), 1) << finished.err;
    }
    EXPECT_EQ(run({"validate", file}).code, 3) << file;
  }
  EXPECT_NE(run({"info", path("text.h5")}).err.find("HDF5"), std::string::npos);
}

// A8: a directed cycle is the rule that a missing entry breaks here; both commands name it, neither crashes.
TEST_F(WrongUseTest, CyclesAndSelfLoopsAreNamed) {
  const std::string head = R"({"format": "pardnn-graph", "version": 1, "nodes": [{"name": "a", "comp": 1, "mem": 1}, {"name": "b", "comp": 1, "mem": 1},
                               {"name": "c", "comp": 1, "mem": 1}], "edges": [)";
  write_file(path("cycle.json"), head + R"({"from": "a", "to": "b", "bytes": 1}, {"from": "b", "to": "c", "bytes": 1}, {"from": "c", "to": "b", "bytes": 1}]})");
  for (const Finished& finished : {run({"validate", path("cycle.json")}), run({"partition", path("cycle.json"), "--devices", "2"})}) {
    EXPECT_EQ(finished.code, 3) << finished.text();
    EXPECT_NE(finished.err.find("cycle"), std::string::npos) << finished.err;
    EXPECT_NE(finished.err.find("'b'"), std::string::npos) << finished.err;
    EXPECT_NE(finished.err.find("'c'"), std::string::npos) << finished.err;
  }
  write_file(path("loop.json"), head + R"({"from": "b", "to": "b", "bytes": 1}]})");
  const Finished loop = run({"partition", path("loop.json"), "--devices", "2"});
  EXPECT_EQ(loop.code, 3);
  EXPECT_NE(loop.err.find("self loop"), std::string::npos) << loop.err;
}

// A30: times are integers; everything else is refused by name before any work.
TEST_F(WrongUseTest, TimesThatAreNoIntegersAreRefused) {
  for (const char* value : {"1.5", "NaN", "Infinity", "-1", "1e400", "\"three\"", "9223372036854775808", "null"}) {
    write_file(path("odd.json"), std::string(R"({"format": "pardnn-graph", "version": 1, "nodes": [{"name": "a", "comp": )") + value + R"(, "mem": 1}], "edges": []})");
    const Finished finished = run({"partition", path("odd.json"), "--devices", "2"});
    EXPECT_EQ(finished.code, 3) << value << ": " << finished.text();
  }
}

TEST_F(WrongUseTest, HostileNamesAreEscapedOnTheTerminal) {
  const std::string input = graph("hostile", GraphBuilder().node("<script>alert(1)</script>\"'", 60).node("b", 1).node("c", 1).data());
  const Finished finished = run({"partition", input, "--devices", "3", "--json", "-"});
  EXPECT_EQ(finished.code, 0) << finished.text();
  EXPECT_EQ(finished.err.find("\"'"), std::string::npos) << finished.err;
  EXPECT_NO_THROW(finished.json());
  expect_refused({"partition", path("\x1b[31m.h5"), "--devices", "2"}, "\\x1b[31m.h5");
}

TEST_F(WrongUseTest, PinsBeyondTheMachineAreNamed) {
  const std::string input = graph("pinned", GraphBuilder().node("a", 1).node("b", 1).pin("b", 3).data());
  const Finished finished = run({"partition", input, "--devices", "2"});
  EXPECT_EQ(finished.code, 3) << finished.text();
  EXPECT_NE(finished.err.find("pinned.h5: /nodes/fixed: node 1 is pinned to device 3, but the machine has devices 0 to 1"), std::string::npos) << finished.err;
  EXPECT_EQ(run({"compare", input, "--devices", "2", "--methods", "rr"}).code, 3);
  // A given placement breaks the rule, whatever it is: that is an answer, not an error.
  write_file(path("p.tsv"), "a\t0\nb\t1\n");
  const Finished judged = run({"evaluate", input, path("p.tsv"), "--devices", "2", "--json", "-"});
  EXPECT_EQ(judged.code, 2) << judged.text();
  EXPECT_EQ(judged.json()["broken"], nlohmann::json::array({"fixed"}));
  // Facts of the graph need no machine.
  for (const std::int64_t far : {5'000, INT32_MAX}) {
    const Finished facts = run({"info", graph("far", GraphBuilder().node("a", 1).pin("a", static_cast<DeviceId>(far)).data())});
    EXPECT_EQ(facts.code, 0) << facts.text();
  }
}

// 010 is ten, not eight, and 0x10 is nothing.
TEST_F(WrongUseTest, CountsAreDecimal) {
  const std::string input = graph("one", GraphBuilder().node("a", 1).data());
  const Finished ten = run({"partition", input, "--devices", "010", "--json", "-"});
  ASSERT_EQ(ten.code, 0) << ten.text();
  EXPECT_EQ(ten.json()["machine"]["devices"], 10);
  for (const char* odd : {"0x10", "1e1", "2.0", "+2", "", "4097", "99999999999999999999", "-1"}) expect_refused({"partition", input, std::string("--devices=") + odd}, "--devices");
  expect_refused({"partition", input, "--devices", "2", "--seeds", "0x10"}, "--seeds 0x10: expected a whole number from 1 to 1000000");
  expect_refused({"partition", input, "--devices", "2", "--threads", "two"}, "--threads two: expected a whole number");
  expect_refused({"generate", "mlp", "--nodes", "1e6", "-o", path("g.h5")}, "--nodes 1e6: expected a whole number");
}

}  // namespace
}  // namespace pardnn::test
