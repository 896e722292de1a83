#include "seeds/seed_team.hpp"

#include <atomic>
#include <mutex>

#include <gtest/gtest.h>

#include "costs/cost_model.hpp"
#include "pardnn/emulate.hpp"
#include "seeds/thread_ranks.hpp"
#include "support/random_graphs.hpp"

namespace pardnn::test {
namespace {

/// A random graph on four devices: small, but seeds differ on it.
class SeedTeamTest : public testing::Test {
 protected:
  SeedTeamTest() : graph_(random_graph_data(11, options())), machine_(homogeneous_machine(4)), costs_(graph_, machine_) {}

  static RandomGraphOptions options() {
    RandomGraphOptions options;
    options.nodes = 60;
    return options;
  }

  SeedTeamOptions team(std::int64_t seeds) const {
    SeedTeamOptions team;
    team.search.preset = Preset::fast;
    team.search.lower_bound = 0;  // never reached: all seeds are explored
    team.seeds = seeds;
    return team;
  }

  SeedRun run(const SeedTeamOptions& options, SeedHooks hooks, Ranks& ranks) const {
    Judge judge(costs_, Policy::fifo);
    std::vector<StageTime> stages;
    return explore_seeds(judge, options, std::move(hooks), ranks, stages);
  }
  SeedRun run_alone(const SeedTeamOptions& options, SeedHooks hooks = {}) const {
    OneRank alone;
    return run(options, std::move(hooks), alone);
  }

  Graph graph_;
  Machine machine_;
  CostModel costs_;
};

void expect_same(const Seeded& a, const Seeded& b) {
  EXPECT_EQ(a.index, b.index);
  EXPECT_EQ(a.candidate.score, b.candidate.score);
  EXPECT_EQ(a.candidate.device, b.candidate.device);
  EXPECT_EQ(a.candidate.origin, b.candidate.origin);
}

TEST_F(SeedTeamTest, TheBestOfSingleSeedsForAnyNumberOfRanks) {
  std::optional<Seeded> best;
  for (std::int64_t index = 0; index < 9; ++index) {
    SeedTeamOptions one = team(1);
    one.first_seed = 1 + static_cast<std::uint64_t>(index);
    Seeded found = run_alone(one).best;
    found.index = index;
    keep_better(best, std::move(found));
  }
  for (const int size : {1, 2, 3, 4, 7, 12}) {
    on_ranks(size, [&](Ranks& ranks) {
      const SeedRun done = run(team(9), {}, ranks);
      if (!ranks.is_first()) return;
      expect_same(done.best, *best);
      EXPECT_EQ(done.state.done.count(), 9);
      EXPECT_EQ(done.caught, 0);
    });
  }
}

TEST_F(SeedTeamTest, WhereTheBoundIsReachedTheLowestSeedThatReachesItWins) {
  SeedTeamOptions options = team(9);
  options.search.lower_bound = run_alone(team(1)).best.candidate.score.makespan;  // as good as the first seed is enough
  const Seeded alone = run_alone(options).best;
  EXPECT_EQ(alone.index, 0);
  for (const int size : {2, 3, 7}) {
    on_ranks(size, [&](Ranks& ranks) {
      const SeedRun done = run(options, {}, ranks);
      if (ranks.is_first()) expect_same(done.best, alone);
    });
  }
}

TEST_F(SeedTeamTest, GoesOnFromWhatIsDone) {
  const Seeded whole = run_alone(team(8)).best;
  for (const int size : {1, 3}) {
    // What every moment of a run would leave behind.
    std::vector<SeedState> moments(1);
    SeedHooks watching;
    watching.on_progress = [&](const SeedState& state) { moments.push_back(state); };
    run_alone(team(8), watching);
    ASSERT_EQ(moments.size(), 9u);
    for (const SeedState& before : moments) {
      on_ranks(size, [&](Ranks& ranks) {
        std::atomic<int> seeds_done{0};
        SeedHooks hooks;
        if (ranks.is_first()) hooks.before = before;
        hooks.on_progress = [&](const SeedState&) { ++seeds_done; };
        const SeedRun done = run(team(8), hooks, ranks);
        if (!ranks.is_first()) return;
        expect_same(done.best, whole);
        EXPECT_EQ(seeds_done, 8 - before.done.count());
      });
    }
  }
}

TEST_F(SeedTeamTest, ASignalOnAnyRankEndsAll) {
  for (const int caught_by : {0, 1, 2}) {
    std::mutex mutex;
    int ended = 0;
    on_ranks(3, [&](Ranks& ranks) {
      std::atomic<int> looks{0};
      SeedHooks hooks;
      hooks.caught = [&] { return ranks.rank() == caught_by && ++looks > 2 ? 15 : 0; };
      const SeedRun done = run(team(1'000'000), hooks, ranks);
      const std::lock_guard lock(mutex);
      ++ended;
      EXPECT_EQ(done.caught, 15) << "rank " << ranks.rank();
      if (!ranks.is_first()) return;
      EXPECT_EQ(done.best.candidate.device.size(), static_cast<std::size_t>(graph_.num_nodes()));
      EXPECT_LT(done.state.done.count(), 1'000'000);
    });
    EXPECT_EQ(ended, 3);
  }
}

TEST_F(SeedTeamTest, AskedOnAnyRankTheFirstWritesAndGoesOn) {
  const Seeded whole = run_alone(team(40)).best;
  for (const int asked : {0, 2}) {
    int written = 0;
    on_ranks(3, [&](Ranks& ranks) {
      bool once = true;
      SeedHooks hooks;
      hooks.wants_result = [&] { return ranks.rank() == asked && std::exchange(once, false); };
      if (ranks.is_first()) {
        hooks.write_result = [&](const Seeded& best) {
          ++written;
          EXPECT_EQ(best.candidate.device.size(), static_cast<std::size_t>(graph_.num_nodes()));
        };
      }
      const SeedRun done = run(team(40), hooks, ranks);
      if (ranks.is_first()) expect_same(done.best, whole);
    });
    EXPECT_EQ(written, 1) << "asked on rank " << asked;
  }
}

TEST_F(SeedTeamTest, StoppedBeforeItBeganItStillHasAPlacement) {
  for (const int size : {1, 4}) {
    on_ranks(size, [&](Ranks& ranks) {
      SeedTeamOptions options = team(2);
      options.should_stop = [] { return true; };
      const SeedRun done = run(options, {}, ranks);
      if (!ranks.is_first()) return;
      EXPECT_EQ(done.best.candidate.device.size(), static_cast<std::size_t>(graph_.num_nodes()));
      EXPECT_EQ(done.state.done.count(), 0);  // cut short is not done
    });
  }
}

}  // namespace
}  // namespace pardnn::test
