#include "seeds/seed_team.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <mutex>
#include <thread>
#include <utility>

#include "ranks/bytes.hpp"
#include "seeds/seed_messages.hpp"

namespace pardnn {

namespace {

using Clock = std::chrono::steady_clock;
using Kind = SeedMessage::Kind;

/// Between two looks at what other ranks and the surroundings have to say.
constexpr std::chrono::milliseconds kLookPeriod{5};
/// mpirun hands one signal on to all ranks: what they ask for within this time is one question.
constexpr std::chrono::seconds kOneQuestion{2};
/// A rank that waits sleeps so long at a time: it must not take CPU time from those that work.
constexpr std::chrono::milliseconds kNap{2};

class SeedTeam {
 public:
  SeedTeam(Judge& judge, const SeedTeamOptions& options, SeedHooks hooks, Ranks& ranks, std::vector<StageTime>& stages)
      : judge_(judge), options_(options), hooks_(std::move(hooks)), ranks_(ranks), clock_(options.seeds > 1 ? nullptr : options.progress, stages) {}

  SeedRun run();

 private:
  void learn_what_is_done();
  void explore_own_seeds();
  void explore(std::int64_t index);
  void finish_with_others();
  void wait_for_others();

  bool stops_now();
  void look();
  void end_by_signal(int number, bool told);
  void answer(SeedMessage message);
  void write_best();

  void account(std::int64_t index, std::optional<Seeded> seeded);
  bool is_unbeatable(const Seeded& seeded) const;
  bool is_own(std::int64_t index) const {
    return (options_.first_seed + static_cast<std::uint64_t>(index)) % static_cast<std::uint64_t>(ranks_.size()) == static_cast<std::uint64_t>(ranks_.rank());
  }
  void tell(int rank, SeedMessage message) { ranks_.send(rank, to_bytes(message)); }
  void tell_others(const SeedMessage& message) {
    for (int rank = 1; rank < ranks_.size(); ++rank) tell(rank, message);
  }

  Judge& judge_;
  const SeedTeamOptions& options_;
  SeedHooks hooks_;
  Ranks& ranks_;
  StageClock clock_;
  Clock::time_point next_look_{}, answered_{};

  SeedState state_;                    ///< rank 0: of all ranks; others: their own
  std::mutex progress_mutex_;          ///< of in_progress_, which other threads of the search set
  std::optional<Seeded> in_progress_;  ///< best so far of the seed that is being explored
  std::optional<Seeded> cut_short_;    ///< best of the seeds that were not explored to their end
  std::int64_t exploring_ = -1;  ///< changes between searches only
  /// Other threads of the search ask for these, too.
  std::atomic<std::int64_t> enough_ = std::numeric_limits<std::int64_t>::max();
  std::atomic<bool> stopping_ = false, was_stopped_ = false;
  bool result_wanted_ = false;
  int caught_ = 0;
  int finished_ = 0;
  bool over_ = false;
};

SeedRun SeedTeam::run() {
  learn_what_is_done();
  const bool shows = options_.progress != nullptr && options_.seeds > 1;
  if (shows) options_.progress->stage_begins("seeds", options_.seeds);
  explore_own_seeds();
  if (ranks_.size() > 1) finish_with_others();
  if (shows) options_.progress->stage_ends();
  SeedRun run;
  run.caught = caught_;
  std::optional<Seeded> best = state_.best;
  if (cut_short_) keep_better(best, std::move(*cut_short_));
  if (best) run.best = std::move(*best);
  run.state = std::move(state_);
  return run;
}

/// Collective: every rank knows which seeds are done, and how good the best of them is.
void SeedTeam::learn_what_is_done() {
  state_ = std::move(hooks_.before);
  if (ranks_.size() == 1) return;
  ByteWriter out;
  std::vector<std::int64_t> ranges;
  for (const auto& [first, last] : state_.done.ranges()) ranges.insert(ranges.end(), {first, last});
  out.put_all(ranges);
  out.put(state_.best.has_value());
  out.put(state_.best ? state_.best->index : 0);
  out.put(state_.best ? state_.best->candidate.score : Score{});
  ByteBuffer bytes = out.take();
  ranks_.broadcast(bytes);
  if (ranks_.is_first()) return;
  ByteReader in(bytes);
  state_ = {};
  ranges = in.get_all<std::int64_t>();
  for (std::size_t i = 0; i + 1 < ranges.size(); i += 2) state_.done.add(ranges[i], ranges[i + 1]);
  if (!in.get<bool>()) return;
  Seeded& best = state_.best.emplace();
  best.index = in.get<std::int64_t>();
  best.candidate.score = in.get<Score>();
}

bool SeedTeam::is_unbeatable(const Seeded& seeded) const {
  const Score& score = seeded.candidate.score;
  return !judge_.memory_matters() && score.feasible() && score.makespan <= options_.search.lower_bound;
}

void SeedTeam::explore_own_seeds() {
  if (state_.best && is_unbeatable(*state_.best)) enough_ = state_.best->index;
  if (ranks_.is_first() && options_.progress != nullptr && options_.seeds > 1) options_.progress->stage_reaches(state_.done.count());
  for (std::int64_t index = 0; index < options_.seeds; ++index) {
    if (!is_own(index) || state_.done.contains(index)) continue;
    // Without any placement yet, a seed is begun however late it is: its first start is soon there.
    if (index > enough_ || (stops_now() && (state_.best || cut_short_))) return;
    explore(index);
  }
}

void SeedTeam::explore(std::int64_t index) {
  SeedSearchOptions search = options_.search;
  search.seed = options_.first_seed + static_cast<std::uint64_t>(index);
  search.should_stop = [this] { return stops_now(); };
  if (hooks_.write_result) {
    search.on_best = [this, index](const Candidate& best) {
      const std::scoped_lock lock(progress_mutex_);
      in_progress_ = Seeded{index, best};
    };
  }
  exploring_ = index;
  was_stopped_ = false;
  Seeded found{index, search_seed(judge_, search, clock_)};
  exploring_ = -1;
  in_progress_.reset();
  if (index > enough_) return;
  if (was_stopped_) return keep_better(cut_short_, std::move(found));
  if (ranks_.is_first()) return account(index, std::move(found));
  SeedMessage message{Kind::seed_done, index, {}};
  if (!state_.best || is_better(found, *state_.best)) {
    // Rank 0 keeps the placement; here the score is enough.
    state_.best.emplace().index = index;
    state_.best->candidate.score = found.candidate.score;
    if (is_unbeatable(found)) enough_ = std::min<std::int64_t>(enough_, index);
    message.seeded = std::move(found);
  }
  state_.done.add(index);
  tell(0, std::move(message));
}

/// Rank 0: a seed is done, by whomever.
void SeedTeam::account(std::int64_t index, std::optional<Seeded> seeded) {
  state_.done.add(index);
  if (seeded) {
    if (is_unbeatable(*seeded) && index < enough_) {
      enough_ = index;
      tell_others({Kind::enough, index, {}});
    }
    keep_better(state_.best, std::move(*seeded));
  }
  if (options_.progress != nullptr && options_.seeds > 1) options_.progress->stage_reaches(state_.done.count());
  if (hooks_.on_progress) hooks_.on_progress(state_);
}

/// Collective: rank 0 has everybody's results, everybody knows the signal that ended the run.
void SeedTeam::finish_with_others() {
  if (ranks_.is_first()) {
    wait_for_others();
    tell_others({Kind::over, 0, {}});
    return;
  }
  tell(0, {Kind::finished, 0, std::move(cut_short_)});
  cut_short_.reset();
  while (!over_) {
    look();
    if (!over_) std::this_thread::sleep_for(kNap);
  }
}

void SeedTeam::wait_for_others() {
  const auto stage = clock_.stage("other ranks");
  while (finished_ + 1 < ranks_.size()) {
    look();
    if (finished_ + 1 < ranks_.size()) std::this_thread::sleep_for(kNap);
  }
}

bool SeedTeam::stops_now() {
  if (ranks_.may_talk()) {
    if (const auto now = Clock::now(); now >= next_look_) {
      next_look_ = now + kLookPeriod;
      look();
    }
  }
  const bool stops = stopping_ || exploring_ > enough_;
  if (stops) was_stopped_ = true;
  return stops;
}

/// What do the surroundings want, and what do others say?
void SeedTeam::look() {
  if (hooks_.caught) {
    if (const int number = hooks_.caught(); number != 0) end_by_signal(number, false);
  }
  if (options_.should_stop && options_.should_stop()) stopping_ = true;
  while (std::optional<Message> message = ranks_.receive()) answer(seed_message(message->bytes));
  if (hooks_.wants_result && hooks_.wants_result()) {
    result_wanted_ = ranks_.is_first();
    if (!result_wanted_) tell(0, {Kind::write_now, 0, {}});
  }
  if (result_wanted_) write_best();
}

/// `told`: by another rank.
void SeedTeam::end_by_signal(int number, bool told) {
  stopping_ = true;
  if (caught_ != 0) return;
  caught_ = number;
  const SeedMessage message{Kind::caught, number, {}};
  if (ranks_.is_first()) {
    tell_others(message);
  } else if (!told) {
    tell(0, message);
  }
}

void SeedTeam::answer(SeedMessage message) {
  switch (message.kind) {
    case Kind::seed_done: return account(message.number, std::move(message.seeded));
    case Kind::caught: return end_by_signal(static_cast<int>(message.number), true);
    case Kind::write_now:
      if (Clock::now() - answered_ > kOneQuestion) result_wanted_ = true;
      return;
    case Kind::enough: enough_ = std::min<std::int64_t>(enough_, message.number); return;
    case Kind::finished:
      ++finished_;
      if (message.seeded) keep_better(cut_short_, std::move(*message.seeded));
      return;
    case Kind::over: over_ = true; return;
  }
}

void SeedTeam::write_best() {
  std::optional<Seeded> best = state_.best;
  if (cut_short_) keep_better(best, *cut_short_);
  {
    const std::scoped_lock lock(progress_mutex_);
    if (in_progress_) keep_better(best, *in_progress_);
  }
  if (!best) return;  // as soon as there is one
  result_wanted_ = false;
  if (hooks_.write_result) hooks_.write_result(*best);
  answered_ = Clock::now();
}

}  // namespace

SeedRun explore_seeds(Judge& judge, const SeedTeamOptions& options, SeedHooks hooks, Ranks& ranks, std::vector<StageTime>& stages) {
  return SeedTeam(judge, options, std::move(hooks), ranks, stages).run();
}

}  // namespace pardnn
