#include "search/improvement.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "parallel/in_order.hpp"
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
constexpr std::int64_t kDecodeVisit = 5;
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

/// Of a further round: large graphs need more, for a round that rebuilds a few windows gains less than `strong` waits for.
std::int64_t further_round_visits(Size size, std::int64_t visits_of_a_run) { return std::max(round_visits(size), 400 * visits_of_a_run); }

/// `default` is to take two CPU seconds, or ten times `fast`: what the starts leave of that, which above 100,000 visits a run is less and then, as `fast`
/// takes longer, more again.
std::int64_t first_round_visits(Preset preset, Size size, std::int64_t visits_of_a_run) {
  if (preset == Preset::strong) return round_visits(size);
  return std::min(round_visits(size) * 3 / 4, std::max(2 * kRoundVisits - 700 * visits_of_a_run, 150 * visits_of_a_run));
}

class Improver {
 public:
  Improver(Pool& pool, const ImprovementOptions& options)
      : pool_(pool), options_(options), costs_(pool.judge().costs()), graph_(costs_.graph()), policy_(pool.judge().policy()),
        run_(graph_.num_nodes() + graph_.num_edges() + 32), size_(size_of(run_)), first_round_(first_round_visits(options.preset, size_, run_)),
        further_round_(further_round_visits(size_, run_)), threads_(side_by_side(run_)) {
    // Ports make a run cost half as much again.
    if (costs_.machine().links == Links::ports) run_ += run_ / 2;
  }

  bool is_finished() const {
    return (pool_.best().score.feasible() && pool_.best().score.makespan <= options_.lower_bound) ||
           (options_.should_stop && options_.should_stop());
  }

  /// Descents from all of the pool, then what the size allows on the best.
  void first_round(StageClock::Stage& stage) {
    const bool small = size_ <= Size::small;
    const std::vector<Candidate> starts = pool_.candidates();
    const std::int64_t each = first_round_ / (small ? 6 : 3) / static_cast<std::int64_t>(starts.size());
    std::vector<Attempt> attempts;
    for (const Candidate& start : starts) attempts.push_back(descent(start, each));
    if (small) {
      // Two short runs do more than one long one.
      for (const int half : {0, 1}) attempts.push_back(annealed_lists(usual_method(), first_round_ / 8, half));
    }
    try_all(attempts, stage);
    if (small) try_one(annealing(pool_.best(), first_round_ / 4, 0));
    // Not beside the annealing: rebuilt from its start, small graphs end 0.02 % later.
    try_one(rebuilding(pool_.best(), first_round_ / 4, 0));
    try_one(descent(pool_.best(), first_round_ / (small ? 12 : 4)));
  }

  /// One more attempt from one of the best: rebuilt windows, and, while an emulation costs little, annealing of either kind.
  void further_round(int round) {
    const std::int64_t visits = further_round_;
    const auto rank = static_cast<std::size_t>(round / 2) % pool_.candidates().size();
    const Candidate& start = round % 2 == 0 ? pool_.best() : pool_.candidates()[rank];
    switch (kind_of(round)) {
      case Kind::lists: {
        constexpr ListMethod kMethods[] = {ListMethod::etf, ListMethod::eil, ListMethod::etf, ListMethod::heft};
        try_one(annealed_lists(kMethods[round / 2 % 4], visits, round));
        break;
      }
      case Kind::placements: try_one(annealing(start, visits, round)); break;
      case Kind::windows: try_one(rebuilding(start, visits, round)); break;
    }
    try_one(descent(pool_.best(), visits / 4, round));
  }

 private:
  enum class Kind { lists, placements, windows };

  /// One way of improving from one start, on `threads` threads at most; what it gives does not depend on them. Knows nothing of the pool.
  using Attempt = std::function<Candidate(Judge& judge, int threads)>;

  Kind kind_of(int round) const {
    constexpr Kind kTiny[] = {Kind::windows, Kind::lists, Kind::placements, Kind::lists};
    constexpr Kind kSmall[] = {Kind::windows, Kind::placements, Kind::windows, Kind::lists};
    if (size_ == Size::tiny) return kTiny[round % 4];
    return size_ == Size::small ? kSmall[round % 4] : Kind::windows;
  }

  void try_one(const Attempt& attempt) {
    if (!is_finished()) pool_.keep(attempt(pool_.judge(), threads_));
  }

  /// All of them; what they give is kept in their order, until the search is finished. Small graphs: side by side.
  void try_all(const std::vector<Attempt>& attempts, StageClock::Stage& stage) {
    if (is_finished()) return;
    const int width = size_ <= Size::small ? allowed_threads() : 1;
    Spares<Judge> judges;
    make_in_order(
        static_cast<std::int64_t>(attempts.size()), width,
        [&](std::int64_t i) {
          const Attempt& attempt = attempts[static_cast<std::size_t>(i)];
          if (width == 1) return attempt(pool_.judge(), threads_);
          return attempt(*judges.lend([&] { return std::make_unique<Judge>(costs_, policy_); }), 1);
        },
        [&](std::int64_t i, Candidate candidate) {
          pool_.keep(std::move(candidate));
          stage.reach(i + 1);
          over_ = is_finished();
          return !over_;
        });
    over_ = false;
  }

  std::uint64_t seed(int round) const { return options_.seed * 1000 + static_cast<std::uint64_t>(round) + 1; }

  /// What every way of improving is told: its seed, and when to stop.
  template <typename Options>
  Options limited(int round) const {
    Options given;
    given.seed = seed(round);
    given.good_enough = options_.lower_bound;
    given.should_stop = [this] { return over_ || (options_.should_stop && options_.should_stop()); };
    return given;
  }

  static Candidate named(Candidate candidate, const Candidate& start, const char* what) {
    if (candidate.score < start.score && !candidate.origin.ends_with(what)) candidate.origin += what;
    return candidate;
  }

  Attempt descent(const Candidate& start, std::int64_t visits, int round = 0) const {
    return [this, start, visits, round](Judge& judge, int threads) {
      DescentOptions descent = limited<DescentOptions>(round);
      descent.visits = visits / kDescentVisit;
      descent.threads = size_ == Size::tiny ? 1 : threads;  // a step would take less time than waking a thread
      return named(descend_chain(judge, start, descent), start, ", chain descent");
    };
  }

  Attempt rebuilding(const Candidate& start, std::int64_t visits, int round) const {
    return [this, start, visits, round](Judge& judge, int threads) {
      RebuildOptions rebuilding = limited<RebuildOptions>(round);
      rebuilding.runs = visits / run_ / kDecodeVisit;
      rebuilding.threads = size_ == Size::tiny ? 1 : threads;
      return named(rebuild_windows(judge, start, rebuilding), start, ", windows rebuilt");
    };
  }

  Attempt annealing(const Candidate& start, std::int64_t visits, int round) const {
    return [this, start, visits, round](Judge& judge, int) {
      AnnealOptions annealing = limited<AnnealOptions>(round);
      annealing.runs = std::min(visits / run_, kMostRunsPerUnit * graph_.num_units());
      Candidate better = start;
      if (!start.score.feasible() && annealing.runs >= 100 * graph_.num_units()) {
        // Nothing fits yet: half of the runs hot enough to cross from one shape to another.
        annealing.runs /= 2;
        annealing.start_millionths = kHot;
        better = anneal(judge, std::move(better), annealing);
        annealing.start_millionths = AnnealOptions{}.start_millionths;
      }
      return named(anneal(judge, std::move(better), annealing), start, ", annealed");
    };
  }

  /// What makes the most of a list under each policy.
  ListMethod usual_method() const { return policy_ == Policy::priority ? ListMethod::etf : ListMethod::eil; }

  Attempt annealed_lists(ListMethod method, std::int64_t visits, int round) const {
    return [this, method, visits, round](Judge& judge, int) {
      KeyAnnealOptions annealing = limited<KeyAnnealOptions>(round);
      annealing.decoder.method = method;
      annealing.decoder.lazy_sources = true;
      annealing.decoder.ports = costs_.machine().links == Links::ports;
      if (policy_ == Policy::priority) annealing.decoder.dispatch = Dispatch::bottom_level;
      annealing.decoder.plan_order = policy_ == Policy::priority;
      annealing.runs = std::min(visits / run_ / kDecodeVisit, kMostRunsPerUnit * graph_.num_units());
      return anneal_keys(judge, annealing);
    };
  }

  Pool& pool_;
  const ImprovementOptions& options_;
  const CostModel& costs_;
  const Graph& graph_;
  Policy policy_;
  std::int64_t run_;  ///< visits of a whole emulation
  Size size_;
  std::int64_t first_round_, further_round_;  ///< visits
  int threads_;
  std::atomic<bool> over_ = false;  ///< what the others of try_all find does not count any more
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
