#include "construct/reservations.hpp"

#include <algorithm>

namespace pardnn {

Reservations::Reservations(const ListState& state, std::span<const std::int64_t> rank, const ListOptions& options)
    : state_(&state),
      rank_(rank),
      weight_(options.reserve),
      fifo_(options.dispatch == Dispatch::fifo),
      heirs_(state.graph().num_nodes()),
      reserved_on_(state.graph().num_nodes(), kNoDevice),
      by_device_(state.num_devices()) {
  const Graph& graph = state.graph();
  const Nanoseconds mean = graph.total_comp() / std::max<NodeId>(graph.num_nodes(), 1);
  const Nanoseconds short_time = ceil_mul_div(mean, options.heir_through, kOne);
  for (NodeId v = graph.num_nodes() - 1; v >= 0; --v) {
    NodeId best = -1;
    for (EdgeId e = graph.out_begin(v); e < graph.out_end(v); ++e) {
      if (best < 0 || rank_[graph.target(e)] < rank_[best]) best = graph.target(e);
    }
    if (best < 0) continue;
    heirs_[v] = {best, graph.file_id(best)};
    if (graph.comp(best) > short_time || heirs_[best].node < 0) continue;
    heirs_[v] = {heirs_[best].node, std::max(heirs_[best].last_id, graph.file_id(best))};
  }
}

bool Reservations::goes_after(const Request& request, const Reservation& reservation, DeviceId d) const {
  // Dispatch by bottom level: the heir goes first unless it comes when the other has started.
  if (!fifo_) return request.end - state_->costs().duration(request.node, d) >= reservation.ready;
  if (request.ready != reservation.ready) return request.ready > reservation.ready;
  return state_->graph().file_id(request.node) > reservation.last_id;
}

Nanoseconds Reservations::charged_end(const Request& request, DeviceId d) const {
  const Nanoseconds duration = state_->costs().duration(request.node, d);
  Nanoseconds worst = request.end;
  if (duration == 0) return worst;
  for (const Reservation& reservation : by_device_[d]) {
    if (rank_[request.node] <= rank_[reservation.heir] || !holds(reservation, d)) continue;
    if (goes_after(request, reservation, d)) {
      worst = std::max(worst, reservation.ready + state_->costs().duration(reservation.heir, d) + duration);
    } else {
      const Nanoseconds delay = std::max(request.end, reservation.ready) - std::max(request.free, reservation.ready);
      worst = std::max(worst, request.end + ceil_mul_div(delay, weight_, kOne));
    }
  }
  return worst;
}

void Reservations::reserve(NodeId v, DeviceId d, Nanoseconds end) {
  const Heir heir = heirs_[v];
  if (heir.node < 0 || state_->device(heir.node) != kNoDevice) return;
  std::vector<Reservation>& list = by_device_[d];
  const auto is_over = [&](const Reservation& r) { return r.heir == heir.node || !holds(r, d); };
  list.erase(std::remove_if(list.begin(), list.end(), is_over), list.end());
  if (list.size() == kMost) {
    const auto worst = std::max_element(list.begin(), list.end(), [this](const Reservation& a, const Reservation& b) {
      return rank_[a.heir] < rank_[b.heir];
    });
    if (rank_[worst->heir] < rank_[heir.node]) return;
    list.erase(worst);
  }
  list.push_back({heir.node, heir.last_id, end});
  reserved_on_[heir.node] = d;
}

}  // namespace pardnn
