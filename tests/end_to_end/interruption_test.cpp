/// Signals, kills, time limits and full disks: outputs are the old or the new whole file, inputs stay untouched.
#include <chrono>
#include <csignal>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "end_to_end/run_program.hpp"

namespace pardnn::test {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

class InterruptionTest : public ProgramTest {
 protected:
  /// A search that does not end by itself within the time of a test.
  std::vector<std::string> long_run(std::vector<std::string> more) const {
    std::vector<std::string> all{"partition", real_graph("pt-word-rnn"), "--devices", "4", "--preset", "strong", "--seeds", "100000"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

TEST_F(InterruptionTest, SignalsEndTheSearchWithTheBestPlacementWritten) {
  for (const int number : {SIGTERM, SIGINT}) {
    const pid_t process = start(long_run({"-o", path("p.h5"), "--json", path("r.json")}));
    std::this_thread::sleep_for(milliseconds(1500));
    const auto sent = Clock::now();
    ASSERT_EQ(kill(process, number), 0);
    const Finished finished = wait(process);
    EXPECT_LT(seconds_since(sent), 10.0);
    ASSERT_EQ(finished.code, 128 + number) << finished.text();
    const auto result = nlohmann::json::parse(read_file(path("r.json")));
    EXPECT_EQ(result["stopped_by"], "signal " + std::to_string(number));
    EXPECT_EQ(result["feasible"], true);
    const auto judged = run({"evaluate", real_graph("pt-word-rnn"), path("p.h5"), "--devices", "4", "--json", "-"}).json();
    EXPECT_EQ(judged["makespan_ns"], result["makespan_ns"]);
    EXPECT_EQ(files(), (std::vector<std::string>{"p.h5", "r.json"}));
    std::filesystem::remove(path("p.h5"));
    std::filesystem::remove(path("r.json"));
  }
}

TEST_F(InterruptionTest, ASignalAtTheVeryStartLeavesNoFile) {
  const pid_t process = start(long_run({"-o", path("p.h5")}));
  ASSERT_EQ(kill(process, SIGTERM), 0);
  const Finished finished = wait(process);
  EXPECT_TRUE(finished.signal == SIGTERM || finished.code == 128 + SIGTERM) << finished.text();
  EXPECT_TRUE(files().empty());
}

TEST_F(InterruptionTest, TimeLimitGivesTheBestSoFar) {
  const auto began = Clock::now();
  const Finished finished = run(long_run({"--time-limit", "1.5s", "--json", "-", "-o", path("p.tsv")}));
  EXPECT_LT(seconds_since(began), 12.0);
  ASSERT_EQ(finished.code, 0) << finished.text();
  EXPECT_EQ(finished.json()["stopped_by"], "time limit");
  EXPECT_EQ(run({"evaluate", real_graph("pt-word-rnn"), path("p.tsv"), "--devices", "4"}).code, 0);
}

TEST_F(InterruptionTest, AnInterruptedGenerateLeavesNothingBehind) {
  const pid_t process = start({"generate", "mlp", "--nodes", "50000000", "-o", path("big.h5")});
  std::this_thread::sleep_for(milliseconds(1000));
  ASSERT_EQ(kill(process, SIGTERM), 0);
  const Finished finished = wait(process);
  EXPECT_EQ(finished.code, 128 + SIGTERM) << finished.text();
  EXPECT_TRUE(files().empty());
}

// C3, D14: kill -9 at twenty moments of a run; the output is the old or the new whole file.
TEST_F(InterruptionTest, KillsLeaveTheOldOrTheNewFile) {
  const std::string input = path("in.h5"), output = path("p.h5");
  std::filesystem::copy_file(real_graph("pt-gpt2"), input);
  const std::string input_bytes = read_file(input);
  const std::vector<std::string> old_run{"partition", input, "--devices", "2", "--preset", "fast", "-o", output};
  const std::vector<std::string> new_run{"partition", input, "--devices", "4", "--preset", "fast", "-o", output};
  const auto began = Clock::now();
  ASSERT_EQ(run(new_run).code, 0);
  const double duration = seconds_since(began);
  ASSERT_EQ(run(old_run).code, 0);
  const std::string old_bytes = read_file(output);
  int old_files = 0;
  for (int i = 0; i < 20; ++i) {
    write_file(output, old_bytes);
    const pid_t process = start(new_run);
    std::this_thread::sleep_for(std::chrono::duration<double>(duration * 1.2 * i / 20));
    kill(process, SIGKILL);
    wait(process);
    const bool is_old = read_file(output) == old_bytes;
    old_files += is_old ? 1 : 0;
    const Finished judged = run({"evaluate", input, output, "--json", "-"});
    ASSERT_EQ(judged.code, 0) << i << " " << judged.text();
    EXPECT_EQ(judged.json()["machine"]["devices"], is_old ? 2 : 4);
  }
  EXPECT_GT(old_files, 0);
  EXPECT_EQ(read_file(input), input_bytes);
  EXPECT_EQ(run(new_run).code, 0);  // what a killed run left does not stand in the way
}

TEST_F(InterruptionTest, AFullDiskIsExitFourAndKeepsTheOldFile) {
  for (const char* name : {"p.h5", "p.tsv", "p.json"}) {
    write_file(path(name), "old");
    const Finished finished = run({"partition", real_graph("pt-gpt2"), "--devices", "4", "--preset", "fast", "-o", path(name)}, "ulimit -f 4");
    EXPECT_EQ(finished.code, 4) << name << " " << finished.text();
    EXPECT_NE(finished.err.find(name), std::string::npos) << finished.err;
    EXPECT_EQ(read_file(path(name)), "old");
    EXPECT_EQ(files().size(), 1u) << name;
    std::filesystem::remove(path(name));
  }
  const Finished trace = run({"generate", "mlp", "--nodes", "100000", "-o", path("g.h5")}, "ulimit -f 4");
  EXPECT_EQ(trace.code, 4) << trace.text();
  EXPECT_TRUE(files().empty());
}

TEST_F(InterruptionTest, LogsHaveNoCarriageReturns) {
  const Finished finished = run(long_run({"--time-limit", "2s"}));
  EXPECT_EQ(finished.err.find('\r'), std::string::npos) << finished.err;
  EXPECT_EQ(finished.err.find('\x1b'), std::string::npos) << finished.err;
}

}  // namespace
}  // namespace pardnn::test
