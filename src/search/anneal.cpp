#include "search/anneal.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "search/cooling.hpp"
#include "search/critical_chain.hpp"

namespace pardnn {
namespace {

/// Distance between neighbours in a fresh order: room for about 30 halvings before it is renumbered.
constexpr std::int64_t kGap = std::int64_t{1} << 31;
constexpr std::uint64_t kStage = 0x616e6e65616c;  // "anneal"

class Annealer {
 public:
  Annealer(Judge& judge, Candidate start, const AnnealOptions& options)
      : judge_(judge), graph_(judge.costs().graph()), devices_(judge.costs().num_devices()), options_(options),
        random_(options.seed, kStage), current_(start), best_(std::move(start)), ordered_(judge.policy() == Policy::priority) {
    for (DeviceId d = 0; d < devices_; ++d) capacity_ += std::min(judge_.usable(d), kSumLimit / 1024 / devices_);
    capacity_ = std::max<Bytes>(capacity_, 1);
  }

  Candidate run() {
    if (graph_.num_nodes() == 0 || (devices_ == 1 && !ordered_)) return std::move(best_);
    judge_.score(current_.device, current_.priority);
    scale_ = std::max<Nanoseconds>(current_.score.makespan, 1);
    if (ordered_ && current_.priority.empty()) adopt_order();
    look_at_run();
    const std::int64_t steps = 200;
    Cooling cooling(options_.start_millionths, options_.end_millionths, steps, scale_);
    for (std::int64_t step = 0; step < steps; ++step, cooling.step()) {
      if (is_done()) break;
      for (std::int64_t i = options_.runs * step / steps; i < options_.runs * (step + 1) / steps; ++i) try_move(cooling);
    }
    return std::move(best_);
  }

 private:
  struct Change {
    NodeId node;
    DeviceId device;
    std::int64_t priority;
  };

  bool is_done() const {
    return (best_.score.feasible() && best_.score.makespan <= options_.good_enough) ||
           (options_.should_stop && options_.should_stop());
  }

  /// What annealing minimises: the makespan, and a price for bytes that do not fit.
  Nanoseconds energy(const Score& score) const {
    if (score.feasible()) return score.makespan;
    __extension__ using Wide = __int128;
    const Wide price = Wide(scale_) * 16 * std::min(score.overflow, capacity_) / capacity_;
    return score.makespan + scale_ / 20 + static_cast<Nanoseconds>(std::min<Wide>(price, kSumLimit / 4));
  }

  /// The order of the current run becomes the priority: it replays exactly.
  void adopt_order() {
    current_.priority.resize(static_cast<std::size_t>(graph_.num_nodes()));
    std::int64_t rank = 0;
    for (const NodeId v : judge_.schedule().start_order) current_.priority[v] = -(rank++) * kGap;
    if (best_.priority.empty()) best_.priority = current_.priority;
  }

  /// Keeps what moves need to know of the current run.
  void look_at_run() {
    chain_ = critical_chain({judge_.costs(), current_.device, judge_.schedule(), judge_.ready(), judge_.delivered()}, before_);
    order_ = judge_.schedule().start_order;
    rank_.resize(order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) rank_[order_[i]] = static_cast<std::int64_t>(i);
    start_ = judge_.schedule().start;
    ready_.assign(judge_.ready().begin(), judge_.ready().end());
  }

  void try_move(const Cooling& cooling) {
    changes_.clear();
    propose();
    if (changes_.empty()) return;
    swap_in();
    const Nanoseconds threshold = energy(current_.score) + cooling.slack(random_);
    Score score;
    const bool alive = judge_.score_within_makespan(current_.device, current_.priority, threshold, score);
    if (alive && energy(score) <= threshold) {
      current_.score = score;
      if (score < best_.score) {
        best_.device = current_.device;
        best_.priority = current_.priority;
        best_.score = score;
      }
      look_at_run();
    } else {
      swap_in();
    }
  }

  /// Exchanges the proposed changes with what they replace; calling it twice restores.
  void swap_in() {
    for (auto change = changes_.begin(); change != changes_.end(); ++change) {
      std::swap(current_.device[change->node], change->device);
      if (!current_.priority.empty()) std::swap(current_.priority[change->node], change->priority);
    }
    std::reverse(changes_.begin(), changes_.end());
  }

  void propose() {
    if (ordered_ && random_.chance(devices_ == 1 ? 100 : 40)) return propose_order();
    const std::int64_t kind = random_.below(100);
    if (kind < 40) {
      const NodeId v = chain_node();
      move_unit(graph_.unit(v), random_device());
    } else if (kind < 50) {
      move_chain_segment();
    } else if (kind < 75) {
      const NodeId v = chain_node(), w = near(random_.chance(75) ? v : chain_node());
      swap_devices(v, w);
    } else if (kind < 88) {
      follow_neighbour(random_.chance(50) ? chain_node() : random_.below(graph_.num_nodes()));
    } else {
      const NodeId v = random_.below(graph_.num_nodes());
      move_unit(graph_.unit(v), random_device());
    }
  }

  NodeId chain_node() { return chain_[static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(chain_.size())))].node; }
  /// Half of the draws go by how much runs where: of many idle devices one is as good as another.
  DeviceId random_device() {
    if (random_.chance(50)) return static_cast<DeviceId>(random_.below(devices_));
    return current_.device[random_.below(graph_.num_nodes())];
  }
  /// A node that starts at about the same time as v.
  NodeId near(NodeId v) {
    const std::int64_t nodes = graph_.num_nodes();
    const std::int64_t at = rank_[v] + random_.below(33) - 16;
    return order_[static_cast<std::size_t>(std::clamp<std::int64_t>(at, 0, nodes - 1))];
  }
  std::int64_t priority_of(NodeId v) const { return current_.priority.empty() ? 0 : current_.priority[v]; }

  void move_unit(UnitId unit, DeviceId to) {
    if (graph_.unit_fixed(unit) != kNoDevice) return;
    for (const NodeId v : graph_.unit_nodes(unit)) {
      if (current_.device[v] != to) changes_.push_back({v, to, priority_of(v)});
    }
  }

  void swap_devices(NodeId a, NodeId b) {
    if (graph_.unit(a) == graph_.unit(b) || current_.device[a] == current_.device[b]) return;
    if (graph_.unit_fixed(graph_.unit(a)) != kNoDevice || graph_.unit_fixed(graph_.unit(b)) != kNoDevice) return;
    move_unit(graph_.unit(a), current_.device[b]);
    move_unit(graph_.unit(b), current_.device[a]);
  }

  /// A run of the chain's nodes on one device goes to another one together.
  void move_chain_segment() {
    const std::size_t links = chain_.size();
    std::size_t i = static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(links)));
    const DeviceId from = current_.device[chain_[i].node], to = random_device();
    for (std::int64_t left = 2 + random_.below(15); left > 0 && i < links && current_.device[chain_[i].node] == from; --left, ++i) {
      add_unit_once(graph_.unit(chain_[i].node), to);
    }
  }

  void add_unit_once(UnitId unit, DeviceId to) {
    const NodeId first = graph_.unit_nodes(unit).front();
    for (const Change& change : changes_) {
      if (change.node == first) return;
    }
    move_unit(unit, to);
  }

  void follow_neighbour(NodeId v) {
    const EdgeId in = graph_.in_degree(v), out = graph_.out_degree(v);
    if (in + out == 0) return;
    const EdgeId pick = random_.below(in + out);
    const NodeId u = pick < in ? graph_.source(graph_.in_begin(v) + pick) : graph_.target(graph_.out_begin(v) + pick - in);
    move_unit(graph_.unit(v), current_.device[u]);
  }

  /// A node of the chain that waited for its device goes before one that ran there while it waited; or any node before or
  /// after one that starts at about the same time on its device.
  void propose_order() {
    const ChainLink link = chain_[static_cast<std::size_t>(random_.below(static_cast<std::int64_t>(chain_.size())))];
    NodeId v = link.node;
    if (link.waited_for == WaitedFor::device && random_.chance(70)) {
      NodeId other = link.cause;
      for (std::int64_t back = random_.below(4); back > 0 && before_[other] >= 0 && start_[before_[other]] >= ready_[v]; --back) other = before_[other];
      place_before(v, other);
      return;
    }
    if (random_.chance(50)) v = random_.below(graph_.num_nodes());
    const NodeId other = near(v);
    if (other != v) place_before(v, other);
  }

  /// Gives v a priority just above that of `other`: between it and the next greater one among nodes started near it.
  void place_before(NodeId v, NodeId other) {
    const std::int64_t floor = current_.priority[other];
    std::int64_t ceiling = floor + kGap;
    for (std::int64_t i = std::max<std::int64_t>(0, rank_[other] - 24); i < std::min<std::int64_t>(graph_.num_nodes(), rank_[other] + 24); ++i) {
      const std::int64_t priority = current_.priority[order_[i]];
      if (order_[i] != v && priority > floor && priority < ceiling) ceiling = priority;
    }
    if (ceiling - floor < 2) {
      adopt_order_of_run();
      return;
    }
    changes_.push_back({v, current_.device[v], floor + (ceiling - floor) / 2});
  }

  /// Priorities have run out of room: the current run's order, evenly spaced again. The run stays the same.
  void adopt_order_of_run() {
    std::int64_t rank = 0;
    for (const NodeId v : order_) current_.priority[v] = -(rank++) * kGap;
  }

  Judge& judge_;
  const Graph& graph_;
  DeviceId devices_;
  const AnnealOptions& options_;
  RandomStream random_;
  Candidate current_, best_;
  bool ordered_;
  Nanoseconds scale_ = 1;
  Bytes capacity_ = 0;

  // Of the current run.
  std::vector<ChainLink> chain_;
  std::vector<NodeId> before_, order_;
  std::vector<std::int64_t> rank_;
  std::vector<Nanoseconds> start_, ready_;
  std::vector<Change> changes_;
};

}  // namespace

Candidate anneal(Judge& judge, Candidate start, const AnnealOptions& options) {
  return Annealer(judge, std::move(start), options).run();
}

}  // namespace pardnn
