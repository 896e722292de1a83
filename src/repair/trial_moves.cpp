#include "repair/trial_moves.hpp"

#include <algorithm>

namespace pardnn {
namespace {

/// Parts of an overfull device that are tried in swaps, and parts that they are tried against on each other device.
constexpr std::size_t kSwapped = 24;
constexpr std::size_t kSwappedFor = 24;

class TrialFinder {
 public:
  TrialFinder(Judge& judge, const MoveParts& parts, FrozenRun& frozen, const Refused& refused, std::int64_t visits)
      : judge_(judge), parts_(parts), frozen_(frozen), refused_(refused), devices_(judge.costs().num_devices()),
        given_(frozen.overflow()), most_visits_(frozen.visits() + visits) {}

  std::vector<TrialMove> find() {
    const std::vector<std::vector<MoveCandidate>> holders = holders_at_peaks();
    for (const bool swaps : {false, true}) {
      for (DeviceId p = 0; p < devices_; ++p) {
        if (frozen_.excess(p) <= 0) continue;
        for (std::size_t i = 0; i < holders[p].size() && is_affordable(); ++i) {
          if (swaps && i >= kSwapped) break;
          try_part(holders[p][i].part, p, swaps ? &holders : nullptr);
        }
      }
    }
    std::stable_sort(found_.begin(), found_.end(), [](const TrialMove& a, const TrialMove& b) { return a.overflow < b.overflow; });
    return std::move(found_);
  }

 private:
  bool is_affordable() const { return frozen_.visits() < most_visits_; }

  /// By device: what is held at its peak, the most first.
  std::vector<std::vector<MoveCandidate>> holders_at_peaks() {
    std::vector<Nanoseconds> at;
    for (DeviceId d = 0; d < devices_; ++d) at.push_back(frozen_.time_of(frozen_.peak_slot(d)));
    std::vector<std::vector<MoveCandidate>> holders(static_cast<std::size_t>(devices_));
    for (const MoveCandidate& candidate : move_candidates(judge_, parts_, frozen_.device(), at, Claim::together)) {
      if (!refused_.contains(candidate.part)) holders[candidate.device].push_back(candidate);
    }
    for (auto& list : holders) {
      std::stable_sort(list.begin(), list.end(), [](const MoveCandidate& a, const MoveCandidate& b) { return a.potential > b.potential; });
    }
    return holders;
  }

  /// To every device alone, or in exchange for something of `holders`.
  void try_part(PartId part, DeviceId p, const std::vector<std::vector<MoveCandidate>>* holders) {
    parts_.nodes_on(part, frozen_.device(), p, nodes_);
    if (nodes_.empty()) return;
    for (DeviceId q = 0; q < devices_; ++q) {
      if (q == p) continue;
      frozen_.move(nodes_, q);
      if (holders == nullptr) {
        note({part, p, q}, {MoveParts::kNone, q, p});
      } else {
        try_swaps({part, p, q}, (*holders)[q]);
      }
      frozen_.undo();
    }
  }

  void try_swaps(const Move& move, const std::vector<MoveCandidate>& others) {
    for (std::size_t i = 0; i < std::min(kSwappedFor, others.size()) && is_affordable(); ++i) {
      if (others[i].part == move.part) continue;
      parts_.nodes_on(others[i].part, frozen_.device(), move.to, others_);
      if (others_.empty()) continue;
      frozen_.move(others_, move.from);
      note(move, {others[i].part, move.to, move.from});
      frozen_.undo();
    }
  }

  void note(const Move& move, const Move& back) {
    if (frozen_.overflow() <= given_) found_.push_back({frozen_.overflow(), move, back});
  }

  Judge& judge_;
  const MoveParts& parts_;
  FrozenRun& frozen_;
  const Refused& refused_;
  DeviceId devices_;
  Bytes given_;
  std::int64_t most_visits_;
  std::vector<NodeId> nodes_, others_;
  std::vector<TrialMove> found_;
};

}  // namespace

std::vector<TrialMove> trial_moves(Judge& judge, const MoveParts& parts, FrozenRun& frozen, const Refused& refused, std::int64_t visits) {
  return TrialFinder(judge, parts, frozen, refused, visits).find();
}

}  // namespace pardnn
