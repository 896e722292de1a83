#include "search/chain_descent.hpp"

#include <algorithm>
#include <memory>
#include <optional>
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
/// A pass works on so many parts of the chain side by side, none of them shorter than kLeastPart links. The result depends on them.
constexpr std::size_t kParts = 16, kLeastPart = 64;

/// What was found along a part of the chain.
struct PartGains {
  struct Gain {
    std::size_t step, until;  ///< of the pass: where it was tried, and the last one that it was watched on
    Proposal proposal;
  };
  std::vector<Gain> gains;
  std::int64_t visits = 0;
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

  /// Goes along the chain once and collects changes that gain where they are made. Parts of the chain are probed independently, each with its
  /// share of the visits that are left, so that the outcome does not depend on threads.
  void collect() {
    batch_.clear();
    const std::size_t links = base_.chain.size();
    if (links < 2) return;
    // Start anywhere, so that a budget that ends a pass early does not always end it at the same place.
    offset_ = base_.pass == 0 ? 0 : random_below(random_bits(options_.seed, kStage, base_.pass), links);
    const std::size_t steps = links - 1, parts = std::clamp<std::size_t>(steps / kLeastPart, 1, kParts);
    const std::int64_t share = std::max<std::int64_t>((options_.visits - spent_) / static_cast<std::int64_t>(parts), 1);
    std::size_t free_from = 0;  // what was watched on before does not overlap
    make_in_order(
        static_cast<std::int64_t>(parts), options_.threads,
        [&](std::int64_t i) {
          const auto part = static_cast<std::size_t>(i);
          return probe_part(part * steps / parts, (part + 1) * steps / parts, share);
        },
        [&](std::int64_t, PartGains part) {
          spent_ += part.visits;
          for (PartGains::Gain& gain : part.gains) {
            if (gain.step < free_from) continue;
            free_from = gain.until;
            batch_.push_back(std::move(gain.proposal));
          }
          return !is_stopped();
        });
  }

  /// The steps from `first` to `last`, until `share` of visits is spent.
  PartGains probe_part(std::size_t first, std::size_t last, std::int64_t share) {
    const auto probes = spares_.lend([&] { return std::make_unique<LinkProbes>(base_); });
    const std::int64_t before = probes->started();
    const std::size_t links = base_.chain.size();
    PartGains part;
    for (std::size_t step = first; step < last && part.visits < share && !is_stopped();) {
      const std::size_t i = (step + offset_) % links;
      std::optional<LinkGain> gain;
      if (i + 1 < links) gain = probes->try_link(i);
      part.visits = probes->started() - before;
      const std::size_t until = gain && gain->until > i ? step + (gain->until - i) : step + 1;
      if (gain) part.gains.push_back({step, until, std::move(gain->proposal)});
      step = until;
    }
    return part;
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
  std::int64_t spent_ = 0;
};

}  // namespace

Candidate descend_chain(Judge& judge, Candidate start, const DescentOptions& options) {
  return ChainDescent(judge, std::move(start), options).run();
}

}  // namespace pardnn
