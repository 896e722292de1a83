#include "repair/frozen_search.hpp"

#include <algorithm>

#include "parallel/random.hpp"
#include "repair/move_candidates.hpp"

namespace pardnn {
namespace {

constexpr std::uint64_t kStage = 0x66726f7a656e;  // "frozen"
/// Moves kept after which the parts at the peaks are listed again, and tries in a row that were not kept.
constexpr int kKeptPerList = 16;
constexpr int kTriesPerList = 256;
/// Visits that a try counts for beside those of its moves.
constexpr std::int64_t kTryVisits = 8;

class FrozenSearch {
 public:
  FrozenSearch(Judge& judge, const MoveParts& parts, FrozenRun& frozen, std::int64_t visits, std::uint64_t seed)
      : judge_(judge), parts_(parts), frozen_(frozen), devices_(judge.costs().num_devices()), seed_(seed), begin_(frozen.visits()),
        visits_(std::max<std::int64_t>(visits, 1)), list_visits_(judge.costs().graph().num_nodes() + judge.costs().graph().num_edges() + 64) {}

  std::vector<Move> search() {
    const Bytes given = frozen_.overflow();
    Bytes present = given, best = given;
    std::size_t best_moves = 0;
    while (devices_ > 1 && best > 0 && spent() < visits_) {
      list_parts();
      if (overfull_.empty()) break;
      for (int kept = 0, tries = 0; kept < kKeptPerList && tries < kTriesPerList && best > 0 && spent() < visits_; ++tries) {
        frozen_.add_visits(kTryVisits);
        const int done = propose();
        if (done == 0) continue;
        if (frozen_.overflow() > present + threshold(given)) {
          take_back(done);
          continue;
        }
        ++kept;
        present = frozen_.overflow();
        if (present < best) {
          best = present;
          best_moves = moves_.size();
        }
      }
    }
    moves_.resize(best_moves);
    return std::move(moves_);
  }

 private:
  std::int64_t spent() const { return frozen_.visits() - begin_; }
  std::uint64_t draw(std::uint64_t below) { return random_below(random_bits(seed_, kStage, draws_++), below); }

  /// From a quarter of the overflow at the beginning down to nothing at three quarters of the visits.
  Bytes threshold(Bytes given) const {
    __extension__ using Wide = __int128;
    const std::int64_t left = visits_ * 3 / 4 - spent();
    return left <= 0 ? 0 : static_cast<Bytes>(Wide(given) / 4 * left / visits_);
  }

  void list_parts() {
    std::vector<Nanoseconds> at;
    overfull_.clear();
    for (DeviceId d = 0; d < devices_; ++d) {
      at.push_back(frozen_.time_of(frozen_.peak_slot(d)));
      if (frozen_.excess(d) > 0) overfull_.push_back(d);
    }
    holders_.assign(static_cast<std::size_t>(devices_), {});
    for (const MoveCandidate& candidate : move_candidates(judge_, parts_, frozen_.device(), at, Claim::together)) {
      holders_[candidate.device].push_back(candidate);
    }
    frozen_.add_visits(list_visits_);
  }

  /// One of two parts that hold something at d's peak, by chance or the one that holds more.
  PartId part_on(DeviceId d) {
    const std::vector<MoveCandidate>& list = holders_[d];
    if (list.empty()) return MoveParts::kNone;
    const std::uint64_t first = draw(list.size()), second = draw(list.size());
    const bool greater = draw(2) == 0 && list[second].potential > list[first].potential;
    return list[greater ? second : first].part;
  }

  /// A move or a swap, done in frozen_: how many moves it was.
  int propose() {
    const DeviceId p = overfull_[draw(overfull_.size())];
    const DeviceId other = static_cast<DeviceId>(draw(static_cast<std::uint64_t>(devices_) - 1));
    const DeviceId q = other < p ? other : other + 1;
    const PartId part = part_on(p);
    if (!move(part, p, q)) return 0;
    if (draw(3) > 0) return 1;
    const PartId back = part_on(q);
    return back != part && move(back, q, p) ? 2 : 1;
  }

  bool move(PartId part, DeviceId from, DeviceId to) {
    if (part == MoveParts::kNone) return false;
    parts_.nodes_on(part, frozen_.device(), from, nodes_);
    if (nodes_.empty()) return false;
    frozen_.move(nodes_, to);
    moves_.push_back({part, from, to});
    return true;
  }

  void take_back(int count) {
    for (; count > 0; --count) {
      frozen_.undo();
      moves_.pop_back();
    }
  }

  Judge& judge_;
  const MoveParts& parts_;
  FrozenRun& frozen_;
  DeviceId devices_;
  std::uint64_t seed_, draws_ = 0;
  std::int64_t begin_, visits_, list_visits_;
  std::vector<DeviceId> overfull_;
  std::vector<std::vector<MoveCandidate>> holders_;  // by device: at its peak when they were listed
  std::vector<Move> moves_;
  std::vector<NodeId> nodes_;
};

}  // namespace

std::vector<Move> search_frozen(Judge& judge, const MoveParts& parts, FrozenRun& frozen, std::int64_t visits, std::uint64_t seed) {
  return FrozenSearch(judge, parts, frozen, visits, seed).search();
}

}  // namespace pardnn
