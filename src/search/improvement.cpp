#include "search/improvement.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "search/anneal.hpp"
#include "search/chain_descent.hpp"
#include "search/key_anneal.hpp"
#include "search/window_rebuild.hpp"

namespace pardnn {
namespace {

// Work is counted in visits of a node or edge by a whole emulation (5 to 20 ns each); other work in terms of these.
/// A started node of the chain descent, with its set-up.
constexpr std::int64_t kDescentVisit = 3;
/// A list that is decoded, emulated and thrown away, for each node and edge.
constexpr std::int64_t kDecodeVisit = 6;
/// Of a round, for a graph that is neither tiny nor large.
constexpr std::int64_t kRoundVisits = 60'000'000;
/// A candidate is worth so many annealing runs for each unit, no more.
constexpr std::int64_t kMostRunsPerUnit = 5'000;
/// Heat that lets a placement that does not fit leave its shape, in millionths of the makespan.
constexpr std::int64_t kHot = 500'000;

/// `strong` ends after so many rounds in a row that together gain less than a part of the makespan, or after kMostRounds.
constexpr int kPatience = 8;
constexpr Nanoseconds kGainPart = 5'000;
constexpr int kMostRounds = 60;

enum class Size { tiny, small, middle, large };

Size size_of(std::int64_t visits_of_a_run) {
  if (visits_of_a_run <= 1'500) return Size::tiny;  // stays in the nearest cache
  if (visits_of_a_run <= 20'000) return Size::small;
  if (visits_of_a_run <= 150'000) return Size::middle;
  return Size::large;
}

/// A round's visits: small graphs cost less for each.
std::int64_t round_visits(Size size) { return size == Size::tiny ? 2 * kRoundVisits : kRoundVisits; }

class Improver {
 public:
  Improver(Pool& pool, const ImprovementOptions& options)
      : pool_(pool), options_(options), graph_(pool.judge().costs().graph()),
        run_(graph_.num_nodes() + graph_.num_edges() + 32), size_(size_of(run_)) {
    // Ports make a run cost half as much again.
    if (pool.judge().costs().machine().links == Links::ports) run_ += run_ / 2;
  }

  bool is_finished() const {
    return (pool_.best().score.feasible() && pool_.best().score.makespan <= options_.lower_bound) ||
           (options_.should_stop && options_.should_stop());
  }

  /// Descents from all of the pool, then what the size allows on the best.
  void first_round(StageClock::Stage& stage) {
    const std::int64_t visits = round_visits(size_);
    const bool small = size_ <= Size::small;
    const std::vector<Candidate> starts = pool_.candidates();
    const std::int64_t each = visits / (small ? 6 : 3) / static_cast<std::int64_t>(starts.size());
    std::int64_t done = 0;
    for (const Candidate& start : starts) {
      if (is_finished()) return;
      descend(start, each);
      stage.reach(++done);
    }
    if (small) {
      // Two short runs do more than one long one.
      for (const int half : {0, 1}) {
        if (!is_finished()) anneal_lists(usual_method(), visits / 8, half);
      }
      if (!is_finished()) anneal(Candidate(pool_.best()), visits / 4, 0);
    }
    if (!is_finished()) rebuild(Candidate(pool_.best()), visits / 4, 0);
    if (!is_finished()) descend(Candidate(pool_.best()), visits / (small ? 12 : 4));
  }

  /// One more attempt from one of the best: rebuilt windows, and, while an emulation costs little, annealing of either kind.
  void further_round(int round) {
    const std::int64_t visits = round_visits(size_);
    const auto rank = static_cast<std::size_t>(round / 2) % pool_.candidates().size();
    Candidate start = round % 2 == 0 ? pool_.best() : pool_.candidates()[rank];
    switch (attempt(round)) {
      case Attempt::lists: {
        constexpr ListMethod kMethods[] = {ListMethod::etf, ListMethod::eil, ListMethod::etf, ListMethod::heft};
        anneal_lists(kMethods[round / 2 % 4], visits, round);
        break;
      }
      case Attempt::placements: anneal(std::move(start), visits, round); break;
      case Attempt::windows: rebuild(std::move(start), visits, round); break;
    }
    if (!is_finished()) descend(Candidate(pool_.best()), visits / 4, round);
  }

 private:
  enum class Attempt { lists, placements, windows };

  Attempt attempt(int round) const {
    constexpr Attempt kTiny[] = {Attempt::windows, Attempt::lists, Attempt::placements, Attempt::lists};
    constexpr Attempt kSmall[] = {Attempt::windows, Attempt::placements, Attempt::windows, Attempt::lists};
    if (size_ == Size::tiny) return kTiny[round % 4];
    return size_ == Size::small ? kSmall[round % 4] : Attempt::windows;
  }

  std::uint64_t seed(int round) const { return options_.seed * 1000 + static_cast<std::uint64_t>(round) + 1; }

  /// What every way of improving is told: its seed, and when to stop.
  template <typename Options>
  Options limited(int round) const {
    Options given;
    given.seed = seed(round);
    given.good_enough = options_.lower_bound;
    given.should_stop = options_.should_stop;
    return given;
  }

  void keep(Candidate candidate, const Candidate& start, const char* what) {
    if (candidate.score < start.score && !candidate.origin.ends_with(what)) candidate.origin += what;
    pool_.keep(std::move(candidate));
  }

  void descend(const Candidate& start, std::int64_t visits, int round = 0) {
    DescentOptions descent = limited<DescentOptions>(round);
    descent.visits = visits / kDescentVisit;
    keep(descend_chain(pool_.judge(), start, descent), start, ", chain descent");
  }

  void rebuild(const Candidate& start, std::int64_t visits, int round) {
    RebuildOptions rebuilding = limited<RebuildOptions>(round);
    rebuilding.runs = visits / run_ / kDecodeVisit;
    keep(rebuild_windows(pool_.judge(), start, rebuilding), start, ", windows rebuilt");
  }

  void anneal(const Candidate& start, std::int64_t visits, int round) {
    AnnealOptions annealing = limited<AnnealOptions>(round);
    annealing.runs = std::min(visits / run_, kMostRunsPerUnit * graph_.num_units());
    Candidate better = start;
    if (!start.score.feasible() && annealing.runs >= 100 * graph_.num_units()) {
      // Nothing fits yet: half of the runs hot enough to cross from one shape to another.
      annealing.runs /= 2;
      annealing.start_millionths = kHot;
      better = pardnn::anneal(pool_.judge(), std::move(better), annealing);
      annealing.start_millionths = AnnealOptions{}.start_millionths;
    }
    keep(pardnn::anneal(pool_.judge(), std::move(better), annealing), start, ", annealed");
  }

  /// What makes the most of a list under each policy.
  ListMethod usual_method() const { return pool_.judge().policy() == Policy::priority ? ListMethod::etf : ListMethod::eil; }

  void anneal_lists(ListMethod method, std::int64_t visits, int round) {
    const Judge& judge = pool_.judge();
    KeyAnnealOptions annealing = limited<KeyAnnealOptions>(round);
    annealing.decoder.method = method;
    annealing.decoder.lazy_sources = true;
    annealing.decoder.ports = judge.costs().machine().links == Links::ports;
    if (judge.policy() == Policy::priority) annealing.decoder.dispatch = Dispatch::bottom_level;
    annealing.runs = std::min(visits / run_ / kDecodeVisit, kMostRunsPerUnit * graph_.num_units());
    pool_.keep(anneal_keys(pool_.judge(), annealing));
  }

  Pool& pool_;
  const ImprovementOptions& options_;
  const Graph& graph_;
  std::int64_t run_;  ///< visits of a whole emulation
  Size size_;
};

}  // namespace

void improve_pool(Pool& pool, const ImprovementOptions& options, StageClock& clock) {
  Improver improver(pool, options);
  {
    auto stage = clock.stage("improvement", static_cast<std::int64_t>(pool.candidates().size()));
    improver.first_round(stage);
  }
  if (options.preset != Preset::strong) return;
  auto stage = clock.stage("further rounds", kMostRounds);
  Score mark = pool.best().score;
  for (int round = 1, idle = 0; round <= kMostRounds && idle < kPatience && !improver.is_finished(); ++round) {
    improver.further_round(round);
    stage.reach(round);
    const Score& best = pool.best().score;
    const bool gained = best.overflow < mark.overflow || best.makespan < mark.makespan - mark.makespan / kGainPart;
    idle = gained ? 0 : idle + 1;
    if (gained) mark = best;
  }
}

}  // namespace pardnn
