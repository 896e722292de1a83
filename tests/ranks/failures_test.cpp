/// Ranks that fail, are killed, stopped, or do not find one another.
#include <csignal>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>

#include "ranks/mpi_program.hpp"
#include "support/random_graphs.hpp"

namespace pardnn::test {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

class FailuresTest : public MpiTest {
 protected:
  /// A search that does not end by itself within the time of a test.
  std::vector<std::string> long_run(std::vector<std::string> more) const {
    std::vector<std::string> all{"partition", real_graph("pt-word-rnn"), "--devices", "4", "--preset", "strong", "--seeds", "100000", "--progress", "log"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }
};

// D9: one rank fails, and the whole job with it, at once, with one message.
TEST_F(FailuresTest, D9OneRankFailsInAnyPhase) {
  for (const std::string phase : {"read", "search", "write"}) {
    for (const std::string rank : {"0", "2"}) {
      const auto began = Clock::now();
      const Finished finished = run_on(3, long_run({"-o", path("p.h5"), "--time-limit", "1s"}), std::string("export PARDNN_FAIL=").append(phase).append(":").append(rank));
      EXPECT_LT(seconds_since(began), 15.0) << phase << rank;
      const std::string message = std::string("pardnn: error: rank ").append(rank);
      if (phase == "write" && rank != "0") {
        // By then rank 0 may be through: then the placement is there, and the job has failed all the same.
        EXPECT_NE(finished.code, 0) << finished.text();
      } else {
        EXPECT_EQ(finished.code, 4) << phase << rank << " " << finished.text();
      }
      EXPECT_EQ(lines_with(finished.err, message), 1) << phase << rank << " " << finished.err;
      EXPECT_EQ(lines_with(finished.err, "pardnn: error:"), 1) << phase << rank << " " << finished.err;
      fs::remove(path("p.h5"));
      EXPECT_TRUE(files().empty());
    }
  }
}

// D19: exit codes under mpirun, and each message once.
TEST_F(FailuresTest, D19ExitCodes) {
  const std::string graph = real_graph("pt-dlrm");
  const auto code_of = [&](const std::vector<std::string>& arguments, int errors) {
    const Finished finished = run_on(3, arguments);
    EXPECT_EQ(lines_with(finished.err, "pardnn: error:"), errors) << finished.err;
    return finished.code;
  };
  EXPECT_EQ(code_of({"partition", graph, "--devices", "2", "--preset", "fast"}, 0), 0);
  EXPECT_EQ(code_of({"partition", graph, "--devices", "2", "--preset", "fast", "--memory", "1GiB"}, 0), 2);
  EXPECT_EQ(code_of({"partition", graph, "--devices", "2", "--no-such-flag"}, 1), 3);
  EXPECT_EQ(code_of({"partition", graph, "--devices", "none"}, 1), 3);
  EXPECT_EQ(code_of({"no-such-command"}, 1), 3);
  EXPECT_EQ(code_of({"partition", path("missing.h5"), "--devices", "2"}, 1), 3);
  EXPECT_EQ(code_of({"partition", graph, "--devices", "2", "-o", path("no/folder.h5")}, 1), 3);
  EXPECT_EQ(code_of(long_run({"--time-limit", "1s"}), 0), 0);
  EXPECT_EQ(code_of({"info", path("missing.h5")}, 1), 3);
}

TEST_F(FailuresTest, KillNineOfAnyRankEndsTheJobAndKeepsTheOldFile) {
  for (const std::size_t rank : {0u, 1u, 2u}) {
    write_file(path("p.h5"), "old");
    const pid_t launcher = start_on(3, long_run({"-o", path("p.h5")}));
    const std::vector<pid_t> ranks = wait_for_ranks(launcher, 3);
    ASSERT_EQ(ranks.size(), 3u);
    std::this_thread::sleep_for(milliseconds(1500));
    const auto killed = Clock::now();
    ASSERT_EQ(kill(ranks[rank], SIGKILL), 0);
    const Finished finished = wait(launcher);
    EXPECT_LT(seconds_since(killed), 10.0);
    EXPECT_NE(finished.code, 0) << finished.text();
    EXPECT_EQ(read_file(path("p.h5")), "old");
    EXPECT_EQ(files(), std::vector<std::string>{"p.h5"});
  }
}

// D12: SIGTERM to all ranks, as srun and scancel send it, or to any one.
TEST_F(FailuresTest, D12ATerminatedRankEndsAllWithTheBestWritten) {
  for (const int victim : {-1, 0, 2}) {
    const pid_t launcher = start_on(3, long_run({"-o", path("p.h5"), "--json", path("r.json")}));
    const std::vector<pid_t> ranks = wait_for_ranks(launcher, 3);
    ASSERT_EQ(ranks.size(), 3u);
    std::this_thread::sleep_for(milliseconds(2500));
    const auto sent = Clock::now();
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (victim < 0 || i == static_cast<std::size_t>(victim)) kill(ranks[i], SIGTERM);
    }
    const Finished finished = wait(launcher);
    EXPECT_LT(seconds_since(sent), 5.0) << victim;
    EXPECT_EQ(finished.code, 128 + SIGTERM) << victim << " " << finished.text();
    ASSERT_TRUE(fs::exists(path("r.json"))) << victim << " " << finished.text();
    const auto result = nlohmann::json::parse(read_file(path("r.json")));
    EXPECT_EQ(result["stopped_by"], "signal 15");
    const auto judged = run({"evaluate", real_graph("pt-word-rnn"), path("p.h5"), "--devices", "4", "--json", "-"}).json();
    EXPECT_EQ(judged["makespan_ns"], result["makespan_ns"]);
    EXPECT_EQ(files(), (std::vector<std::string>{"p.h5", "r.json"}));
    fs::remove(path("p.h5"));
    fs::remove(path("r.json"));
  }
}

TEST_F(FailuresTest, D12ASignalBeforeThereIsAnythingLeavesNoFile) {
  const pid_t launcher = start_on(3, long_run({"-o", path("p.h5")}));
  const std::vector<pid_t> ranks = wait_for_ranks(launcher, 3);
  ASSERT_EQ(ranks.size(), 3u);
  for (const pid_t rank : ranks) kill(rank, SIGTERM);
  EXPECT_NE(wait(launcher).code, 0);
  EXPECT_TRUE(files().empty() || files() == std::vector<std::string>{"p.h5"});  // the latter if a start was there already
}

// SIGUSR1: write and go on.
TEST_F(FailuresTest, Usr1WritesTheBestSoFarAndGoesOn) {
  for (const int victim : {0, 1}) {
    const pid_t launcher = start_on(2, long_run({"-o", path("p.h5"), "--json", path("r.json")}));
    const std::vector<pid_t> ranks = wait_for_ranks(launcher, 2);
    ASSERT_EQ(ranks.size(), 2u);
    std::this_thread::sleep_for(milliseconds(1500));
    ASSERT_FALSE(fs::exists(path("p.h5")));
    kill(ranks[static_cast<std::size_t>(victim)], SIGUSR1);
    EXPECT_TRUE(wait_for_file(path("r.json"), 5.0));
    const auto so_far = nlohmann::json::parse(read_file(path("r.json")));
    EXPECT_EQ(so_far["unfinished"], true);
    EXPECT_EQ(run({"evaluate", real_graph("pt-word-rnn"), path("p.h5"), "--devices", "4"}).code, 0);
    EXPECT_EQ(ranks_of(launcher).size(), 2u);  // it goes on
    for (const pid_t rank : ranks) kill(rank, SIGTERM);
    EXPECT_EQ(wait(launcher).code, 128 + SIGTERM);
    const auto last = nlohmann::json::parse(read_file(path("r.json")));
    EXPECT_EQ(last["unfinished"], false);
    EXPECT_LE(last["makespan_ns"], so_far["makespan_ns"]);
    fs::remove(path("p.h5"));
    fs::remove(path("r.json"));
  }
}

// D1: processes that do not know of one another.
TEST_F(FailuresTest, D1SingletonsAreRefused) {
  const std::vector<std::string> command{"partition", real_graph("pt-dlrm"), "--devices", "2", "--preset", "fast", "-o", path("p.h5")};
  const Finished refused = run(command, "export SLURM_NTASKS=4");
  EXPECT_EQ(refused.code, 3) << refused.text();
  EXPECT_EQ(lines_with(refused.err, "pardnn: error: SLURM_NTASKS=4"), 1) << refused.err;
  EXPECT_NE(refused.err.find("--mpi=pmix"), std::string::npos) << refused.err;
  EXPECT_TRUE(files().empty());
  const Finished other = run(command, "export SLURM_NTASKS=4 SLURM_PROCID=2");
  EXPECT_EQ(other.code, 3);
  EXPECT_EQ(other.err, "");  // the first of them speaks
  EXPECT_EQ(run(command, "export OMPI_COMM_WORLD_SIZE=4").code, 3);
  EXPECT_EQ(run(command, "export PMI_SIZE=4 PMI_RANK=0").code, 3);
  EXPECT_TRUE(files().empty());
  std::vector<std::string> meant = command;
  meant.insert(meant.end(), {"--ranks", "1"});
  EXPECT_EQ(run(meant, "export SLURM_NTASKS=4").code, 0);
  meant.back() = std::to_string(3);
  EXPECT_EQ(run_on(2, meant).code, 3);
  EXPECT_EQ(run_on(3, meant).code, 0);
}

/// A small file system of its own, for root.
class SmallDisk {
 public:
  SmallDisk(const std::string& folder, const std::string& options) : folder_(folder) {
    fs::create_directory(folder);
    mounted_ = geteuid() == 0 && std::system(("mount -t tmpfs -o " + options + " tmpfs '" + folder + "' 2>/dev/null").c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_ && std::system(("umount -l '" + folder_ + "'").c_str()) != 0) std::perror("umount");
  }
  bool is_mounted() const { return mounted_; }
  void make_read_only() const {
    if (std::system(("mount -o remount,ro '" + folder_ + "'").c_str()) != 0) throw std::runtime_error("remount");
  }

 private:
  std::string folder_;
  bool mounted_;
};

TEST_F(FailuresTest, AFullDiskIsExitFourAndKeepsTheOldFile) {
  const SmallDisk disk(path("disk"), "size=16k");
  if (!disk.is_mounted()) GTEST_SKIP() << "no file system can be mounted here";
  const std::string output = path("disk/p.h5");
  write_file(output, "old");
  const Finished finished = run_on(3, {"partition", real_graph("pt-gpt2"), "--devices", "4", "--preset", "fast", "--seeds", "3", "-o", output});
  EXPECT_EQ(finished.code, 4) << finished.text();
  EXPECT_EQ(lines_with(finished.err, "pardnn: error: rank 0"), 1) << finished.err;
  EXPECT_NE(finished.err.find("No space left"), std::string::npos) << finished.err;
  EXPECT_EQ(read_file(output), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(path("disk")), {}), 1);
}

TEST_F(FailuresTest, AFullDiskDoesNotEndTheSearchUntilTheEnd) {
  const SmallDisk disk(path("disk"), "size=4k");
  if (!disk.is_mounted()) GTEST_SKIP() << "no file system can be mounted here";
  const Finished finished = run_on(2, {"partition", real_graph("pt-gpt2"), "--devices", "4", "--preset", "fast", "--seeds", "3", "-o", path("p.h5"), "--checkpoint", path("disk/c.h5")});
  EXPECT_EQ(finished.code, 4) << finished.text();  // the checkpoint is missing, the placement is there
  EXPECT_EQ(run({"evaluate", real_graph("pt-gpt2"), path("p.h5")}).code, 0);
  EXPECT_TRUE(fs::is_empty(path("disk")));
}

TEST_F(FailuresTest, AReadOnlyFolderIsRefusedBeforeTheWork) {
  const SmallDisk disk(path("disk"), "size=1m");
  if (!disk.is_mounted()) GTEST_SKIP() << "no file system can be mounted here";
  write_file(path("disk/p.h5"), "old");
  disk.make_read_only();
  for (const std::string flag : {"-o", "--checkpoint"}) {
    const auto began = Clock::now();
    const Finished finished = run_on(3, long_run({flag, path("disk/p.h5")}));
    EXPECT_LT(seconds_since(began), 10.0);
    EXPECT_EQ(finished.code, 4) << finished.text();
    EXPECT_EQ(lines_with(finished.err, "pardnn: error: rank 0"), 1) << finished.err;
  }
  EXPECT_EQ(read_file(path("disk/p.h5")), "old");
}

}  // namespace
}  // namespace pardnn::test
