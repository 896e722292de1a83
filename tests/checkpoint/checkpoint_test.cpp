#include "checkpoint/checkpoint.hpp"

#include <functional>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "io/hdf5_file.hpp"
#include "pardnn/error.hpp"
#include "support/random_graphs.hpp"

namespace pardnn::test {
namespace {

namespace fs = std::filesystem;

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest() : graph_(random_graph_data(8)), machine_(homogeneous_machine(4)) {
    std::string pattern = testing::TempDir() + "pardnn_checkpoint_XXXXXX";
    folder_ = mkdtemp(pattern.data());
    file_ = folder_ + "/c.h5";
  }
  ~CheckpointTest() override { fs::remove_all(folder_); }

  RunIdentity identity() const { return run_identity(graph_, machine_, options_, "test 1"); }
  Checkpoint checkpoint() const { return {file_, identity(), graph_}; }

  /// Seeds 0, 1 and 4 are done, the best is seed 1 with everything on one device.
  SeedState some_state() const {
    SeedState state;
    state.done.add(0, 1);
    state.done.add(4);
    Seeded& best = state.best.emplace();
    best.index = 1;
    best.candidate.score = {0, 123, 45};
    best.candidate.origin = "some method";
    best.candidate.device.assign(static_cast<std::size_t>(graph_.num_nodes()), 0);
    for (NodeId v = 0; v < graph_.num_nodes(); ++v) {
      if (graph_.fixed(v) != kNoDevice) best.candidate.device[v] = graph_.fixed(v);
      best.candidate.priority.push_back(7 * v - 3);
    }
    return state;
  }

  std::string refusal(const Checkpoint& checkpoint, std::int64_t seeds = 10, DeviceId devices = 4) const {
    try {
      checkpoint.read(seeds, devices);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }

  Graph graph_;
  Machine machine_;
  Options options_;
  std::string folder_, file_;
};

TEST_F(CheckpointTest, NoFileIsNothingDone) {
  const SeedState state = checkpoint().read(10, 4);
  EXPECT_EQ(state.done.count(), 0);
  EXPECT_FALSE(state.best.has_value());
}

TEST_F(CheckpointTest, ComesBackAsItWas) {
  const SeedState written = some_state();
  checkpoint().write(written);
  const SeedState read = checkpoint().read(10, 4);
  EXPECT_EQ(read.done, written.done);
  ASSERT_TRUE(read.best.has_value());
  EXPECT_EQ(read.best->index, 1);
  EXPECT_EQ(read.best->candidate.score, written.best->candidate.score);
  EXPECT_EQ(read.best->candidate.device, written.best->candidate.device);
  EXPECT_EQ(read.best->candidate.priority, written.best->candidate.priority);
  EXPECT_EQ(read.best->candidate.origin, "some method");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), {}), 1);  // no temporary is left
}

TEST_F(CheckpointTest, MoreSeedsMayBeAskedForFewerNot) {
  checkpoint().write(some_state());
  EXPECT_EQ(refusal(checkpoint(), 1000), "");
  EXPECT_EQ(refusal(checkpoint(), 5), "");
  EXPECT_NE(refusal(checkpoint(), 4).find("give --seeds 5 or more"), std::string::npos) << refusal(checkpoint(), 4);
}

TEST_F(CheckpointTest, AnotherRunsIsRefusedAndWhatDiffersIsNamed) {
  checkpoint().write(some_state());
  const auto differs = [&](const RunIdentity& run) { return refusal(Checkpoint(file_, run, graph_)); };
  EXPECT_EQ(differs(identity()), "");
  Options other = options_;
  other.preset = Preset::fast;
  EXPECT_NE(differs(run_identity(graph_, machine_, other, "test 1")).find("its preset is 'default', this run's is 'fast'"), std::string::npos);
  other = options_;
  other.policy = Policy::priority;
  EXPECT_NE(differs(run_identity(graph_, machine_, other, "test 1")).find("policy"), std::string::npos);
  other = options_;
  other.seed = 2;
  EXPECT_NE(differs(run_identity(graph_, machine_, other, "test 1")).find("seed"), std::string::npos);
  other = options_;
  other.start = Placement{std::vector<DeviceId>(static_cast<std::size_t>(graph_.num_nodes()), 0), {}};
  EXPECT_NE(differs(run_identity(graph_, machine_, other, "test 1")).find("start"), std::string::npos);
  EXPECT_NE(differs(run_identity(graph_, homogeneous_machine(4, 1000), options_, "test 1")).find("machine"), std::string::npos);
  Machine ports = machine_;
  ports.links = Links::ports;
  EXPECT_NE(differs(run_identity(graph_, ports, options_, "test 1")).find("links"), std::string::npos);
  EXPECT_NE(differs(run_identity(Graph(random_graph_data(9)), machine_, options_, "test 1")).find("graph"), std::string::npos);
  EXPECT_NE(differs(run_identity(graph_, machine_, options_, "test 2")).find("program"), std::string::npos);
  EXPECT_EQ(differs(run_identity(graph_, machine_, options_, "test 1")).find('\n'), std::string::npos);
}

TEST_F(CheckpointTest, WhatIsNoCheckpointIsRefused) {
  std::ofstream(file_) << "text";
  EXPECT_NE(refusal(checkpoint()).find(file_), std::string::npos);
  {
    h5::OutputFile out(file_);
    out.set_attribute("format", "pardnn-placement");
    out.close();
  }
  EXPECT_NE(refusal(checkpoint()).find("not a checkpoint"), std::string::npos);
}

TEST_F(CheckpointTest, DamageIsRefused) {
  const auto damaged = [&](const std::function<void(CheckpointFile&)>& damage) {
    checkpoint().write(some_state());
    CheckpointFile file = read_checkpoint_file(file_, identity(), graph_.num_nodes());
    damage(file);
    write_checkpoint_file(file_, file);
    return refusal(checkpoint());
  };
  EXPECT_EQ(damaged([](CheckpointFile&) {}), "");
  EXPECT_NE(damaged([](CheckpointFile& file) { file.best->device[0] = 4; }).find("/device"), std::string::npos);
  EXPECT_NE(damaged([](CheckpointFile& file) { file.best->device[0] = -1; }).find("/device"), std::string::npos);
  EXPECT_NE(damaged([](CheckpointFile& file) { file.best->device.pop_back(); }).find("/device"), std::string::npos);
  EXPECT_NE(damaged([](CheckpointFile& file) { file.best->priority.pop_back(); }).find("/priority"), std::string::npos);
  EXPECT_NE(damaged([](CheckpointFile& file) { file.best->index = 3; }).find("not done"), std::string::npos);
  EXPECT_NE(damaged([](CheckpointFile& file) { file.best.reset(); }).find("no placement"), std::string::npos);
  EXPECT_NE(damaged([](CheckpointFile& file) { file.done = {0, 1, 1, 4}; }).find("/done"), std::string::npos);
  EXPECT_NE(damaged([](CheckpointFile& file) { file.done = {-1, 4}; }).find("/done"), std::string::npos);
  EXPECT_NE(damaged([](CheckpointFile& file) { file.done = {0, 1, 4}; }).find("/done"), std::string::npos);
}

}  // namespace
}  // namespace pardnn::test
