#include "repair/frozen_run.hpp"

#include <algorithm>

namespace pardnn {
namespace {

/// Slots of all devices together, at most, and of one, at least.
constexpr std::int64_t kSlots = std::int64_t{1} << 20;
constexpr std::int64_t kLeastSlots = 1024;
/// Holdings after a move that are looked through for one from before it.
constexpr std::size_t kLookAhead = 4;

}  // namespace

FrozenRun::FrozenRun(const CostModel& costs)
    : costs_(&costs), graph_(&costs.graph()), members_(costs.graph()), held_(static_cast<std::size_t>(costs.num_devices())),
      limit_(static_cast<std::size_t>(costs.num_devices())), stamp_(static_cast<std::size_t>(costs.graph().num_nodes()), 0) {}

/// Slots begin where nodes start or end; at every n-th such time if there are too many.
void FrozenRun::choose_slots(const Schedule& schedule) {
  times_.assign(1, 0);
  times_.insert(times_.end(), schedule.start.begin(), schedule.start.end());
  times_.insert(times_.end(), schedule.finish.begin(), schedule.finish.end());
  std::sort(times_.begin(), times_.end());
  times_.erase(std::unique(times_.begin(), times_.end()), times_.end());
  const std::int64_t most = std::max(kLeastSlots, kSlots / costs_->num_devices());
  const std::int64_t count = static_cast<std::int64_t>(times_.size());
  const std::int64_t step = (count + most - 1) / most;
  std::size_t kept = 0;
  for (std::int64_t i = 0; i < count; i += step) times_[kept++] = times_[i];
  times_.resize(kept);
}

std::int64_t FrozenRun::slot_of(Nanoseconds time) const {
  return std::upper_bound(times_.begin(), times_.end(), time) - times_.begin() - 1;
}

std::int64_t FrozenRun::last_before(Nanoseconds time) const {
  return std::lower_bound(times_.begin(), times_.end(), time) - times_.begin() - 1;
}

template <typename Hold>
void FrozenRun::hold_copies(NodeId member, Hold&& hold) {
  std::sort(copies_.begin(), copies_.end(), [](const Copy& a, const Copy& b) { return a.to != b.to ? a.to < b.to : a.output < b.output; });
  for (std::size_t i = 0; i < copies_.size();) {
    Copy all = copies_[i];
    for (++i; i < copies_.size() && copies_[i].to == all.to && copies_[i].output == all.output; ++i) {
      all.bytes = std::max(all.bytes, copies_[i].bytes);
      if (finish_[copies_[i].user] > finish_[all.user]) all.user = copies_[i].user;
    }
    if (finish_[all.user] > finish_[member]) hold(all.to, finish_slot_[member], until_slot_[all.user], all.bytes);
  }
}

template <typename Hold>
void FrozenRun::hold_root(NodeId root, Hold&& hold) {
  const DeviceId p = device_[root];
  std::int64_t until = -1;
  for (const NodeId m : members_.of(root)) {
    until = std::max(until, until_slot_[m]);
    copies_.clear();
    for (EdgeId e = graph_->out_begin(m); e < graph_->out_end(m); ++e) {
      if (graph_->bytes(e) == 0) continue;
      const NodeId u = graph_->target(e);
      const DeviceId q = device_[u];
      if (q == p) {
        until = std::max(until, until_slot_[u]);
      } else {
        until = std::max(until, last_before(finish_[m] + costs_->cost(e, p, q)));
        copies_.push_back({q, graph_->output(e), graph_->bytes(e), u});
      }
    }
    visits_ += 1 + graph_->out_degree(m);
    if (!copies_.empty()) hold_copies(m, hold);
  }
  if (graph_->mem(root) == 0) return;
  if (graph_->is_residual(root)) {
    hold(p, std::int64_t{0}, static_cast<std::int64_t>(times_.size()) - 1, graph_->mem(root));
  } else if (graph_->kind(root) == NodeKind::normal && until >= start_slot_[root]) {
    hold(p, start_slot_[root], until, graph_->mem(root));
  }
}

void FrozenRun::freeze(const Judge& judge, std::span<const DeviceId> device) {
  const Schedule& schedule = judge.schedule();
  const std::size_t nodes = static_cast<std::size_t>(graph_->num_nodes());
  device_.assign(device.begin(), device.end());
  finish_ = schedule.finish;
  choose_slots(schedule);
  start_slot_.resize(nodes);
  finish_slot_.resize(nodes);
  until_slot_.resize(nodes);
  for (std::size_t v = 0; v < nodes; ++v) {
    start_slot_[v] = slot_of(schedule.start[v]);
    finish_slot_[v] = slot_of(schedule.finish[v]);
    until_slot_[v] = last_before(schedule.finish[v]);
  }
  visits_ = 0;
  std::vector<std::vector<Bytes>> change(held_.size(), std::vector<Bytes>(times_.size() + 1, 0));
  hold_all(change);
  overflow_ = 0;
  for (DeviceId d = 0; d < costs_->num_devices(); ++d) {
    Bytes held = 0;
    for (Bytes& bytes : change[d]) bytes = held += bytes;
    change[d].pop_back();
    held_[d].assign(change[d]);
    limit_[d] = judge.usable(d) + held_[d].greatest() - judge.peaks().peak[d];
    overflow_ += std::max<Bytes>(0, excess(d));
  }
  steps_.clear();
  log_.clear();
  moved_.clear();
}

void FrozenRun::hold_all(std::vector<std::vector<Bytes>>& change) {
  const auto add = [&](DeviceId d, std::int64_t first, std::int64_t last, Bytes bytes) {
    change[d][first] += bytes;
    change[d][last + 1] -= bytes;
  };
  for (NodeId v = 0; v < graph_->num_nodes(); ++v) {
    if (graph_->root(v) == v) hold_root(v, add);
    if (graph_->temp(v) > 0 && until_slot_[v] >= start_slot_[v]) add(device_[v], start_slot_[v], until_slot_[v], graph_->temp(v));
  }
}

void FrozenRun::touch(NodeId root) {
  if (stamp_[root] == epoch_) return;
  stamp_[root] = epoch_;
  roots_.push_back(root);
}

void FrozenRun::apply(const Change& change) {
  overflow_ -= std::max<Bytes>(0, excess(change.device));
  held_[change.device].add(change.first, change.last, change.bytes);
  overflow_ += std::max<Bytes>(0, excess(change.device));
  visits_ += 8;
}

void FrozenRun::move(std::span<const NodeId> nodes, DeviceId to) {
  if (++epoch_ == 0) {
    std::fill(stamp_.begin(), stamp_.end(), 0);
    epoch_ = 1;
  }
  roots_.clear();
  const DeviceId from = device_[nodes.front()];
  steps_.push_back({from, log_.size(), moved_.size()});
  moved_.insert(moved_.end(), nodes.begin(), nodes.end());
  for (const NodeId v : nodes) {
    touch(graph_->root(v));
    for (EdgeId i = graph_->in_begin(v); i < graph_->in_end(v); ++i) {
      if (graph_->bytes(graph_->in_edge(i)) > 0) touch(graph_->root(graph_->source(i)));
    }
    visits_ += 1 + graph_->in_degree(v);
    if (graph_->temp(v) == 0 || until_slot_[v] < start_slot_[v]) continue;
    log_.push_back({from, start_slot_[v], until_slot_[v], -graph_->temp(v)});
    log_.push_back({to, start_slot_[v], until_slot_[v], graph_->temp(v)});
  }
  hold_touched(-1);
  const std::size_t given = log_.size();
  for (const NodeId v : nodes) device_[v] = to;
  hold_touched(1);
  cancel(steps_.back().log_begin, given);
  for (std::size_t i = steps_.back().log_begin; i < log_.size(); ++i) apply(log_[i]);
}

void FrozenRun::hold_touched(Bytes sign) {
  const auto note = [&](DeviceId d, std::int64_t first, std::int64_t last, Bytes bytes) { log_.push_back({d, first, last, sign * bytes}); };
  for (const NodeId root : roots_) hold_root(root, note);
}

/// Most holdings of the touched buffers are the same before and after: what is given back just as it was taken is dropped.
/// Both lists come in the same order of buffers, members and devices, so those that match are found by walking along both.
void FrozenRun::cancel(std::size_t taken, std::size_t given) {
  std::size_t kept = taken, next = given;
  for (std::size_t i = taken; i < given; ++i) {
    std::size_t match = next;
    while (match < std::min(next + kLookAhead, log_.size()) && !log_[i].is_undone_by(log_[match])) ++match;
    if (match < std::min(next + kLookAhead, log_.size())) {
      log_[match].bytes = 0;
      next = match + 1;
    } else {
      log_[kept++] = log_[i];
    }
  }
  for (std::size_t i = given; i < log_.size(); ++i) {
    if (log_[i].bytes != 0) log_[kept++] = log_[i];
  }
  log_.resize(kept);
}

void FrozenRun::undo() {
  const Step step = steps_.back();
  steps_.pop_back();
  for (std::size_t i = step.log_begin; i < log_.size(); ++i) apply({log_[i].device, log_[i].first, log_[i].last, -log_[i].bytes});
  for (std::size_t i = step.moved_begin; i < moved_.size(); ++i) device_[moved_[i]] = step.from;
  log_.resize(step.log_begin);
  moved_.resize(step.moved_begin);
}

}  // namespace pardnn
