/// The whole program on many ranks: the same placement for any number of them.
#include <gtest/gtest.h>

#include "ranks/mpi_program.hpp"
#include "support/random_graphs.hpp"

namespace pardnn::test {
namespace {

class ManyRanksTest : public MpiTest {
 protected:
  struct Written {
    std::string bytes, text;
    nlohmann::json result;
  };
  /// `ranks` 0: without mpirun.
  Written place(int ranks, std::vector<std::string> arguments, const std::string& before = "") {
    arguments.insert(arguments.begin(), "partition");
    arguments.insert(arguments.end(), {"-o", path("p.h5"), "-o", path("p.tsv"), "--json", "-"});
    const Finished finished = ranks == 0 ? run(arguments) : run_on(ranks, arguments, before);
    EXPECT_TRUE(finished.code == 0 || finished.code == 2) << ranks << " ranks, " << finished.text();
    Written written{read_file(path("p.h5")), read_file(path("p.tsv")), finished.json()};
    for (const std::string name : {"p.h5", "p.tsv"}) std::filesystem::remove(path(name));
    return written;
  }
};

TEST_F(ManyRanksTest, FastIsTheSameForAnyNumberOfRanksAndThreads) {
  const std::vector<std::string> options{real_graph("pt-dlrm"), "--devices", "4", "--memory", "16GiB", "--preset", "fast", "--seeds", "7"};
  const Written alone = place(0, options);
  for (const int ranks : {1, 2, 3, 4, 7}) {
    for (const std::string threads : {"1", "2"}) {
      std::vector<std::string> all = options;
      all.insert(all.end(), {"--threads", threads});
      const Written written = place(ranks, all);
      EXPECT_EQ(written.bytes, alone.bytes) << ranks << " ranks, " << threads << " threads";
      EXPECT_EQ(written.text, alone.text);
      EXPECT_EQ(written.result["ranks"], ranks);
      EXPECT_EQ(written.result["best_seed"], alone.result["best_seed"]);
    }
  }
}

TEST_F(ManyRanksTest, DefaultIsTheSameForAnyNumberOfRanksAndThreads) {
  const std::vector<std::string> options{small_graph(), "--devices", "4", "--bandwidth", "10GB/s", "--seeds", "7"};
  const Written alone = place(0, options);
  for (const auto& [ranks, threads] : std::vector<std::pair<int, std::string>>{{3, "2"}, {7, "1"}}) {
    std::vector<std::string> all = options;
    all.insert(all.end(), {"--threads", threads});
    const Written written = place(ranks, all);
    EXPECT_EQ(written.bytes, alone.bytes) << ranks << " ranks, " << threads << " threads";
    EXPECT_EQ(written.text, alone.text);
    EXPECT_EQ(written.result["best_seed"], alone.result["best_seed"]);
  }
}

TEST_F(ManyRanksTest, ManySeedsGiveTheBestOfEach) {
  const std::string graph = small_graph();
  const std::vector<std::string> options{graph, "--devices", "4", "--bandwidth", "10GB/s", "--policy", "priority"};
  std::int64_t best = INT64_MAX;
  int best_seed = 0;
  for (int seed = 1; seed <= 3; ++seed) {
    std::vector<std::string> one = options;
    one.insert(one.end(), {"--seed", std::to_string(seed)});
    const std::int64_t makespan = place(0, one).result["makespan_ns"];
    if (makespan < best) best = makespan, best_seed = seed;
  }
  std::vector<std::string> all = options;
  all.insert(all.end(), {"--seed", "1", "--seeds", "3"});
  const Written written = place(3, all);
  EXPECT_EQ(written.result["makespan_ns"], best);
  EXPECT_EQ(written.result["best_seed"], best_seed);
}

// A14: messages in many pieces; two hosts of two ranks and one of one.
TEST_F(ManyRanksTest, A14PiecesAndHostsChangeNothing) {
  const std::vector<std::string> options{real_graph("pt-wrn-100"), "--devices", "4", "--policy", "priority", "--preset", "fast", "--seeds", "5"};
  const Written alone = place(0, options);
  EXPECT_EQ(place(3, options, "export PARDNN_MPI_CHUNK=1000").bytes, alone.bytes);
  EXPECT_EQ(place(5, options, "export PARDNN_MPI_HOST=2").bytes, alone.bytes);
  EXPECT_EQ(place(5, options, "export PARDNN_MPI_HOST=2 PARDNN_MPI_CHUNK=1000").bytes, alone.bytes);
}

// A1, A2, A15: fewer nodes than devices, fewer seeds than ranks.
TEST_F(ManyRanksTest, A15MoreRanksThanWork) {
  const std::string chain = graph("chain", GraphBuilder().node("a", 3, 1).node("b", 2, 1).node("c", 4, 1).edge("a", "b", 5).edge("b", "c", 5).data());
  for (const std::string devices : {"1", "8"}) {
    const std::vector<std::string> options{chain, "--devices", devices, "--seeds", "3"};
    const Written alone = place(0, options);
    for (const int ranks : {2, 4, 8}) EXPECT_EQ(place(ranks, options).bytes, alone.bytes) << ranks;
  }
}

// D16: sums of very different sizes are exact, whoever adds them.
TEST_F(ManyRanksTest, D16MixedScalesGiveTheSameObjective) {
  GraphBuilder builder;
  TestRandom random(4);
  for (int i = 0; i < 40; ++i) {
    const std::string name = std::to_string(i);
    builder.node(name, i % 3 == 0 ? 10'000'000'000'000'000 : 1 + random.below(5), 1);
    if (i > 2) builder.edge(std::to_string(random.below(i)), name, i % 2 == 0 ? 1 : 1'000'000'000'000);
  }
  const std::vector<std::string> options{graph("mixed", builder.data()), "--devices", "3", "--preset", "fast", "--seeds", "4"};
  const Written alone = place(0, options);
  for (const int ranks : {1, 2, 3, 4}) {
    const Written written = place(ranks, options);
    EXPECT_EQ(written.bytes, alone.bytes);
    EXPECT_EQ(written.result["makespan_ns"], alone.result["makespan_ns"]);
  }
}

TEST_F(ManyRanksTest, APlacementToStartFromIsSharedWithAllRanks) {
  const std::string graph = real_graph("pt-unet");
  ASSERT_EQ(run({"partition", graph, "--devices", "3", "--preset", "fast", "-o", path("start.tsv")}).code, 0);
  const std::vector<std::string> options{graph, "--devices", "3", "--preset", "fast", "--seeds", "3", "--start", path("start.tsv")};
  EXPECT_EQ(place(3, options).bytes, place(0, options).bytes);
}

TEST_F(ManyRanksTest, RanksShareTheCpusOfTheirHost) {
  const int cpus = place(0, {real_graph("pt-dlrm"), "--devices", "2", "--preset", "fast"}).result["threads"];
  const int threads = place(4, {real_graph("pt-dlrm"), "--devices", "2", "--preset", "fast"}).result["threads"];
  EXPECT_EQ(threads, std::max(1, cpus / 4));
}

// D3: a mask of one CPU.
TEST_F(ManyRanksTest, D3OneCpuForManyThreadsIsNamed) {
  const Finished finished = run_on(2, {"partition", real_graph("pt-dlrm"), "--devices", "2", "--preset", "fast", "--json", path("r.json")},
                                   "export OMP_NUM_THREADS=8; taskset -p -c 0 $$ >/dev/null");
  ASSERT_EQ(finished.code, 0) << finished.text();
  EXPECT_EQ(lines_with(finished.err, "warning: OMP_NUM_THREADS=8 but only 1 CPUs can be used"), 1) << finished.err;
  EXPECT_EQ(nlohmann::json::parse(read_file(path("r.json")))["threads"], 1);
}

// D21, cli.md: rank 0 alone prints; standard output is one JSON document.
TEST_F(ManyRanksTest, D21OnlyRankZeroPrints) {
  const Finished finished = run_on(4, {"partition", small_graph(), "--devices", "2", "--seeds", "8", "--preset", "fast", "--json", "-"});
  ASSERT_EQ(finished.code, 0) << finished.text();
  EXPECT_EQ(finished.json()["ranks"], 4);
  EXPECT_EQ(lines_with(finished.err, "makespan "), 1) << finished.err;
  EXPECT_EQ(finished.err.find('\r'), std::string::npos);
  const Finished quiet = run_on(4, {"partition", small_graph(), "--devices", "2", "--seeds", "8", "--preset", "fast", "-q"});
  EXPECT_EQ(quiet.err + quiet.out, "");
}

TEST_F(ManyRanksTest, OtherCommandsRunOnce) {
  const Finished version = run_on(3, {"--version"});
  EXPECT_EQ(version.code, 0) << version.text();
  EXPECT_EQ(lines_with(version.out, "MPI "), 1) << version.out;
  EXPECT_EQ(lines_with(run_on(3, {"--help"}).out, "Usage"), 1);
  EXPECT_EQ(run_on(3, {"info", real_graph("pt-dlrm"), "--json", "-"}).json()["graph"]["nodes"], 386);
}

// D18: MPI gives a lower thread level than asked for.
TEST_F(ManyRanksTest, D18NoThreadsWhereMpiAllowsNone) {
  const Finished finished = run_on(2, {"partition", real_graph("pt-dlrm"), "--devices", "2", "--preset", "fast", "--threads", "2", "--json", path("r.json")},
                                   "export LD_PRELOAD=" PARDNN_THREAD_SINGLE);
  ASSERT_EQ(finished.code, 0) << finished.text();
  EXPECT_EQ(lines_with(finished.err, "MPI_THREAD_SINGLE: one thread for each rank"), 1) << finished.err;
  EXPECT_EQ(nlohmann::json::parse(read_file(path("r.json")))["threads"], 1);
}

}  // namespace
}  // namespace pardnn::test
