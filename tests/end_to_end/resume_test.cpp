/// --checkpoint and SIGUSR1, in one process.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <iterator>
#include <thread>

#include <gtest/gtest.h>

#include "end_to_end/run_program.hpp"

namespace pardnn::test {
namespace {

using std::chrono::milliseconds;

class ResumeTest : public ProgramTest {
 protected:
  void SetUp() override {
    ProgramTest::SetUp();
    graph_ = path("g.h5");
    ASSERT_EQ(run({"generate", "random", "--nodes", "60", "--seed", "2", "-o", graph_, "-q"}).code, 0);
  }
  std::vector<std::string> command(const std::string& output, std::vector<std::string> more = {}) const {
    std::vector<std::string> all{"partition", graph_, "--devices", "4", "--bandwidth", "10GB/s", "--seeds", "4", "-o", output};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
  std::string graph_;
};

TEST_F(ResumeTest, AnInterruptedRunEndsAsIfItHadNotBeen) {
  const auto began = std::chrono::steady_clock::now();
  ASSERT_EQ(run(command(path("whole.h5"), {"--json", path("whole.json")})).code, 0);
  const auto part = std::chrono::duration_cast<milliseconds>((std::chrono::steady_clock::now() - began) * 2 / 5);  // a seed and a half
  const auto whole = nlohmann::json::parse(read_file(path("whole.json")));
  int interruptions = 0;
  // SIGTERM, SIGKILL and a time limit, until a run gets through.
  for (int attempt = 0; attempt < 10; ++attempt) {
    std::vector<std::string> again = command(path("p.h5"), {"--checkpoint", path("c.h5"), "--json", path("r.json")});
    if (attempt == 2) again.insert(again.end(), {"--time-limit", std::to_string(part.count()) + "ms"});
    const pid_t process = start(again);
    if (attempt < 2) {
      std::this_thread::sleep_for(part);
      kill(process, attempt == 0 ? SIGTERM : SIGKILL);
    }
    const Finished finished = wait(process);
    if (finished.code == 0 && nlohmann::json::parse(read_file(path("r.json")))["stopped_by"].is_null()) break;
    ++interruptions;
  }
  EXPECT_GE(interruptions, 1);
  EXPECT_EQ(read_file(path("p.h5")), read_file(path("whole.h5")));
  const auto resumed = nlohmann::json::parse(read_file(path("r.json")));
  EXPECT_EQ(resumed["best_seed"], whole["best_seed"]);
  EXPECT_EQ(resumed["method"], whole["method"]);
}

TEST_F(ResumeTest, AFinishedRunIsReadBack) {
  ASSERT_EQ(run(command(path("whole.h5"), {"--checkpoint", path("c.h5")})).code, 0);
  const auto began = std::chrono::steady_clock::now();
  const Finished again = run(command(path("p.h5"), {"--checkpoint", path("c.h5"), "--progress", "log"}));
  ASSERT_EQ(again.code, 0) << again.text();
  EXPECT_LT(std::chrono::steady_clock::now() - began, milliseconds(1000));
  EXPECT_NE(again.err.find("checkpoint: 4 of 4 seeds are done"), std::string::npos) << again.err;
  EXPECT_EQ(read_file(path("p.h5")), read_file(path("whole.h5")));
}

TEST_F(ResumeTest, MoreSeedsGoOnFromFewer) {
  std::vector<std::string> few = command(path("few.h5"), {"--checkpoint", path("c.h5")});
  *std::next(std::find(few.begin(), few.end(), "--seeds")) = std::to_string(2);
  ASSERT_EQ(run(few).code, 0);
  ASSERT_EQ(run(command(path("p.h5"), {"--checkpoint", path("c.h5")})).code, 0);
  ASSERT_EQ(run(command(path("whole.h5"))).code, 0);
  EXPECT_EQ(read_file(path("p.h5")), read_file(path("whole.h5")));
  const Finished fewer = run([&] { few.back() = path("c.h5"); return few; }());
  EXPECT_EQ(fewer.code, 3) << fewer.text();
}

TEST_F(ResumeTest, AnotherRunsCheckpointIsRefusedInOneLine) {
  ASSERT_EQ(run(command(path("p.h5"), {"--checkpoint", path("c.h5"), "--preset", "fast"})).code, 0);
  const std::string before = read_file(path("c.h5"));
  const auto refuse = [&](const std::vector<std::string>& arguments, const std::string& what) {
    const Finished finished = run(arguments);
    EXPECT_EQ(finished.code, 3) << finished.text();
    EXPECT_NE(finished.err.find(what), std::string::npos) << finished.err;
    EXPECT_EQ(read_file(path("c.h5")), before);
  };
  refuse(command(path("q.h5"), {"--checkpoint", path("c.h5"), "-q"}), "its preset is 'fast', this run's is 'default'");
  refuse(command(path("q.h5"), {"--checkpoint", path("c.h5"), "--preset", "fast", "--latency", "6us", "-q"}), "machine");
  refuse({"partition", real_graph("pt-dlrm"), "--devices", "4", "--bandwidth", "10GB/s", "--seeds", "4", "--preset", "fast", "--checkpoint", path("c.h5"), "-q"}, "graph");
  refuse(command(path("c.h5"), {"--checkpoint", path("c.h5")}), "twice");
  const Finished other = run(command(path("q.h5"), {"--checkpoint", path("p.h5"), "--preset", "fast", "-q"}));
  EXPECT_EQ(other.code, 3);
  EXPECT_NE(other.err.find("not a checkpoint"), std::string::npos) << other.err;
}

TEST_F(ResumeTest, Usr1WritesTheBestSoFarAndGoesOn) {
  const pid_t process = start({"partition", real_graph("pt-word-rnn"), "--devices", "4", "--preset", "strong", "--seeds", "1", "-o", path("p.tsv"), "--json", "-"});
  std::this_thread::sleep_for(milliseconds(1500));
  ASSERT_EQ(kill(process, SIGUSR1), 0);
  for (int i = 0; i < 250 && !std::filesystem::exists(path("p.tsv")); ++i) std::this_thread::sleep_for(milliseconds(20));
  ASSERT_TRUE(std::filesystem::exists(path("p.tsv")));
  EXPECT_EQ(run({"evaluate", real_graph("pt-word-rnn"), path("p.tsv"), "--devices", "4"}).code, 0);
  ASSERT_EQ(kill(process, SIGTERM), 0);  // it is still there
  const Finished finished = wait(process);
  EXPECT_EQ(finished.code, 128 + SIGTERM) << finished.text();
}

}  // namespace
}  // namespace pardnn::test
