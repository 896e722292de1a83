#include "construct/replica_start.hpp"

#include <algorithm>
#include <numeric>
#include <span>

namespace pardnn {
namespace {

__extension__ using Wide = __int128;

/// Units of one replica (or shared, -1) in one affinity group: what is placed together.
struct Piece {
  std::int32_t replica;
  std::int64_t group;
  Nanoseconds work;
  std::size_t first, last;  ///< its units in the sorted list
};

class Layout {
 public:
  Layout(const CostModel& costs, const AffinityGroups& groups, const Replicas& replicas, const ReplicaLayout& layout)
      : costs_(costs), graph_(costs.graph()), layout_(layout), load_(static_cast<std::size_t>(costs.num_devices()), 0),
        device_(static_cast<std::size_t>(graph_.num_units()), 0) {
    cut_into_pieces(groups, replicas);
    find_stages(groups.groups);
  }

  Constructed place() {
    const DeviceId devices = costs_.num_devices();
    for (DeviceId s = 0; s < layout_.stages; ++s) {
      first_ = static_cast<DeviceId>(std::int64_t{s} * devices / layout_.stages);
      last_ = static_cast<DeviceId>((std::int64_t{s} + 1) * devices / layout_.stages);
      place_stage(s);
    }
    Constructed constructed;
    constructed.device.resize(static_cast<std::size_t>(graph_.num_nodes()));
    for (NodeId v = 0; v < graph_.num_nodes(); ++v) {
      constructed.device[v] = graph_.fixed(v) != kNoDevice ? graph_.fixed(v) : device_[graph_.unit(v)];
    }
    return constructed;
  }

 private:
  std::int64_t speed(DeviceId d) const { return costs_.machine().devices[d].speed; }

  /// A unit belongs to a replica if all of its nodes that take time do.
  void cut_into_pieces(const AffinityGroups& groups, const Replicas& replicas) {
    constexpr std::int32_t kUnknown = -2;
    std::vector<std::int32_t> replica(static_cast<std::size_t>(graph_.num_units()), kUnknown);
    std::vector<Nanoseconds> work(replica.size(), 0);
    for (NodeId v = 0; v < graph_.num_nodes(); ++v) {
      std::int32_t& known = replica[graph_.unit(v)];
      const std::int32_t own = (layout_.sum_on_the_way ? replicas.meets_at : replicas.of_node)[v];
      known = known == kUnknown || known == own ? own : -1;
      work[graph_.unit(v)] += graph_.comp(v);
    }
    const auto group = [&](UnitId u) { return groups.of_node[graph_.unit_nodes(u).front()]; };
    units_.resize(replica.size());
    std::iota(units_.begin(), units_.end(), UnitId{0});
    std::stable_sort(units_.begin(), units_.end(), [&](UnitId a, UnitId b) {
      return replica[a] != replica[b] ? replica[a] < replica[b] : group(a) < group(b);
    });
    for (std::size_t i = 0; i < units_.size(); ++i) {
      const UnitId u = units_[i];
      if (pieces_.empty() || pieces_.back().replica != replica[u] || pieces_.back().group != group(u)) {
        pieces_.push_back({replica[u], group(u), 0, i, i});
      }
      pieces_.back().work += work[u];
      pieces_.back().last = i + 1;
    }
  }

  /// Contiguous runs of groups of equal work.
  void find_stages(std::int64_t groups) {
    std::vector<Wide> work(static_cast<std::size_t>(groups), 0);
    Wide all = 0;
    for (const Piece& piece : pieces_) {
      work[piece.group] += piece.work;
      all += piece.work;
    }
    stage_.resize(work.size());
    Wide before = 0;
    for (std::size_t g = 0; g < work.size(); ++g) {
      const Wide middle = 2 * before + work[g];
      stage_[g] = all == 0 ? 0 : static_cast<DeviceId>(std::min<Wide>(middle * layout_.stages / (2 * all), layout_.stages - 1));
      before += work[g];
    }
  }

  void put(const Piece& piece, DeviceId d) {
    for (std::size_t i = piece.first; i < piece.last; ++i) device_[units_[i]] = d;
    load_[d] += piece.work;
  }

  DeviceId least_loaded(Nanoseconds work) const {
    DeviceId best = first_;
    for (DeviceId d = first_ + 1; d < last_; ++d) {
      if (Wide(load_[d] + work) * speed(best) < Wide(load_[best] + work) * speed(d)) best = d;
    }
    return best;
  }

  /// Whole sets of pieces to the least loaded device, the longest set first.
  void place_longest_first(std::vector<std::vector<const Piece*>>& sets) {
    const auto total = [](const std::vector<const Piece*>& set) {
      return std::accumulate(set.begin(), set.end(), Nanoseconds{0}, [](Nanoseconds sum, const Piece* piece) { return sum + piece->work; });
    };
    std::stable_sort(sets.begin(), sets.end(), [&](const auto& a, const auto& b) { return total(a) > total(b); });
    for (const auto& set : sets) {
      const DeviceId d = least_loaded(total(set));
      for (const Piece* piece : set) put(*piece, d);
    }
  }

  void place_stage(DeviceId stage) {
    std::vector<std::vector<const Piece*>> shared, replicas;
    Wide work = 0;
    std::int32_t last_replica = -1;
    for (const Piece& piece : pieces_) {
      if (stage_[piece.group] != stage) continue;
      work += piece.work;
      if (piece.replica < 0) {
        shared.push_back({&piece});
        continue;
      }
      if (replicas.empty() || piece.replica != last_replica) replicas.emplace_back();
      last_replica = piece.replica;
      replicas.back().push_back(&piece);
    }
    if (layout_.whole) {
      place_longest_first(replicas);
      place_longest_first(shared);
    } else {
      place_longest_first(shared);
      wrap(replicas, work);
    }
  }

  /// Fills device after device up to its part of `work`.
  void wrap(const std::vector<std::vector<const Piece*>>& replicas, Wide work) {
    Wide speeds = 0, already = 0;
    // A device that shared work fills beyond its part takes no replica; the others share the rest.
    std::vector<char> full(load_.size(), 0);
    for (bool changed = true; changed;) {
      changed = false;
      speeds = already = 0;
      for (DeviceId d = first_; d < last_; ++d) {
        if (full[d]) already += load_[d];
        else speeds += speed(d);
      }
      for (DeviceId d = first_; d < last_ && speeds > 0; ++d) {
        if (full[d] || Wide(load_[d]) * speeds <= (work - already) * speed(d)) continue;
        full[d] = 1;
        changed = true;
      }
    }
    DeviceId d = first_;
    const auto has_room = [&](const Piece& piece) {  // its middle decides
      return !full[d] && (2 * Wide(load_[d]) + piece.work) * speeds <= 2 * (work - already) * speed(d);
    };
    for (const auto& set : replicas) {
      for (const Piece* piece : set) {
        while (d + 1 < last_ && !has_room(*piece)) ++d;
        put(*piece, full[d] ? least_loaded(piece->work) : d);
      }
    }
  }

  const CostModel& costs_;
  const Graph& graph_;
  const ReplicaLayout& layout_;
  std::vector<UnitId> units_;
  std::vector<Piece> pieces_;
  std::vector<DeviceId> stage_;  ///< of each group
  std::vector<Nanoseconds> load_;
  std::vector<DeviceId> device_;  ///< of each unit
  DeviceId first_ = 0, last_ = 0;
};

}  // namespace

Constructed replica_start(const CostModel& costs, const AffinityGroups& groups, const Replicas& replicas, const ReplicaLayout& layout) {
  return Layout(costs, groups, replicas, layout).place();
}

}  // namespace pardnn
