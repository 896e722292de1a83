#include "search/chain_descent.hpp"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "parallel/in_order.hpp"
#include "parallel/random.hpp"
#include "search/link_probes.hpp"

namespace pardnn {
namespace {

constexpr std::uint64_t kStage = 0x6465736365; // "desce"
/// Passes in a row without a shorter makespan after which the descent ends.
constexpr int kIdlePasses = 24;
/// Links that one thread probes ahead of the others at a time.
constexpr std::size_t kStretch = 8;
/// Stretches that wait for their turn, for each thread: a link costs from nothing to dozens of probes. Of moe-24-e8 two threads would take 0.54 of the
/// time of one with 8, 0.69 with 2.
constexpr int kAhead = 8;

/// What was found at one step of a pass, and the visits that it took.
struct ProbedStep {
  std::size_t step;
  std::optional<LinkGain> gain;
  std::int64_t visits;
};

class ChainDescent {
 public:
  ChainDescent(Judge& judge, Candidate start, const DescentOptions& options)
      : judge_(judge), graph_(judge.costs().graph()), options_(options), best_(std::move(start)), base_(judge.costs(), judge.policy()) {}

  Candidate run() {
    if (graph_.num_nodes() == 0 || (judge_.costs().num_devices() == 1 && !base_.ordered)) return std::move(best_);
    if (base_.ordered && best_.priority.empty()) {
      judge_.score(best_.device, {});
      spend_run();
      best_.priority = spread_priorities(judge_.schedule().start_order);
    }
    int idle_passes = 0;
    for (std::uint64_t pass = 0; idle_passes < kIdlePasses && !is_done(); ++pass) {
      base_.look_at(best_, pass);
      spend_run();
      collect();
      const Score before = best_.score;
      if (!batch_.empty()) apply_batch();
      idle_passes = best_.score < before ? 0 : idle_passes + 1;
    }
    return std::move(best_);
  }

 private:
  bool is_stopped() const { return options_.should_stop && options_.should_stop(); }
  bool is_done() const {
    return spent_ >= options_.visits || (best_.score.feasible() && best_.score.makespan <= options_.good_enough) || is_stopped();
  }
  void spend_run() { spent_ += graph_.num_nodes() + graph_.num_edges(); }

  /// Goes along the chain once and collects changes that gain where they are made. Stretches of it are probed ahead on other threads:
  /// what a probe finds depends on the base alone, so that the outcome, and the visits that count, are those of one thread.
  void collect() {
    batch_.clear();
    step_ = 0;
    const std::size_t links = base_.chain.size();
    if (links < 2) return;
    // Start anywhere, so that a budget that ends a pass early does not always end it at the same place.
    offset_ = base_.pass == 0 ? 0 : random_below(random_bits(options_.seed, kStage, base_.pass), links);
    const std::size_t steps = links - 1;
    make_in_order(
        static_cast<std::int64_t>((steps + kStretch - 1) / kStretch), options_.threads,
        [&](std::int64_t stretch) {
          const std::size_t first = static_cast<std::size_t>(stretch) * kStretch;
          return probe_stretch(first, std::min(first + kStretch, steps));
        },
        [&](std::int64_t stretch, std::vector<ProbedStep> probed) {
          return follow(probed, std::min((static_cast<std::size_t>(stretch) + 1) * kStretch, steps));
        },
        kAhead);
  }

  /// The steps from `first`, or from where the pass is known to be, to `last`: those that a pass takes that comes that way.
  std::vector<ProbedStep> probe_stretch(std::size_t first, std::size_t last) {
    std::vector<ProbedStep> probed;
    std::int64_t left = options_.visits - spent_;
    const auto probes = spares_.lend([&] { return std::make_unique<LinkProbes>(base_); });
    for (std::size_t step = std::max<std::size_t>(first, step_); step < last && left > 0 && !is_stopped(); step = after(probed.back())) {
      probed.push_back(probe_step(*probes, step));
      left -= probed.back().visits;
    }
    return probed;
  }

  ProbedStep probe_step(LinkProbes& probes, std::size_t step) const {
    const std::size_t links = base_.chain.size(), i = (step + offset_) % links;
    if (i + 1 == links) return {step, {}, 0};
    const std::int64_t before = probes.started();
    std::optional<LinkGain> gain = probes.try_link(i);
    return {step, std::move(gain), probes.started() - before};
  }

  /// The step that follows.
  std::size_t after(const ProbedStep& probed) const {
    const std::size_t i = (probed.step + offset_) % base_.chain.size();
    return probed.step + (probed.gain && probed.gain->until > i ? probed.gain->until - i : 1);
  }

  /// Takes the steps up to `last`, by what is known of them; what is not is probed here. False at the end of the budget.
  bool follow(std::vector<ProbedStep>& probed, std::size_t last) {
    auto known = probed.begin();
    while (step_ < last) {
      if (is_done()) return false;
      while (known != probed.end() && known->step < step_) ++known;
      if (known != probed.end() && known->step == step_) {
        take(std::move(*known));
      } else {
        const auto probes = spares_.lend([&] { return std::make_unique<LinkProbes>(base_); });
        take(probe_step(*probes, step_));
      }
    }
    return true;
  }

  void take(ProbedStep probed) {
    spent_ += probed.visits;
    step_ = after(probed);
    if (probed.gain) batch_.push_back(std::move(probed.gain->proposal));
  }

  /// Applies all that was collected, or the half, the quarter, ... that helps.
  bool apply_batch() {
    for (std::size_t count = batch_.size(); count > 0; count /= 2) {
      // Take them spread over the whole chain, not only its beginning.
      std::vector<std::size_t> chosen;
      for (std::size_t i = 0; i < count; ++i) chosen.push_back(i * batch_.size() / count);
      if (apply_chosen(chosen)) return true;
      if (is_done()) return false;
    }
    return false;
  }

  bool apply_chosen(const std::vector<std::size_t>& chosen) {
    std::vector<DeviceId>& device = base_.device;
    std::vector<std::int64_t>& priority = base_.priority;
    for (const std::size_t i : chosen) swap_in(graph_, batch_[i].changes, device, priority);
    Score score;
    // An equal makespan is welcome: one of several chains that cause it has become shorter.
    const bool accepted = judge_.score_within(device, base_.ordered ? std::span<const std::int64_t>(priority) : std::span<const std::int64_t>(), Score{best_.score.overflow, best_.score.makespan, kNever}, score);
    spend_run();
    if (accepted) {
      best_.device = device;
      best_.priority = priority;
      best_.score = score;
      return true;
    }
    for (auto i = chosen.rbegin(); i != chosen.rend(); ++i) swap_in(graph_, batch_[*i].changes, device, priority);
    return false;
  }

  Judge& judge_;
  const Graph& graph_;
  const DescentOptions& options_;
  Candidate best_;
  ChainBase base_;
  Spares<LinkProbes> spares_;
  std::vector<Proposal> batch_;
  std::size_t offset_ = 0;  ///< link at which the pass begins
  // Other threads look at these to see how far the pass is.
  std::atomic<std::int64_t> spent_ = 0;
  std::atomic<std::size_t> step_ = 0;
};

}  // namespace

Candidate descend_chain(Judge& judge, Candidate start, const DescentOptions& options) {
  return ChainDescent(judge, std::move(start), options).run();
}

}  // namespace pardnn
