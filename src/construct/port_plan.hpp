/// EIL under Links::ports: when inputs arrive, as far as it can be known while consumers are still without a device.
///
/// A device sends what a node made when the node ends, to every device that needs it (model.md): also to those of consumers that get their
/// device only later. These are taken from a plan made before, where there is one: if it comes out the same, every delivery is exact. What was
/// not foreseen is sent behind what its node sent before, as if the port had been free for it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "construct/list_state.hpp"

namespace pardnn {

class PortPlan {
 public:
  /// Reads foreseen, comm_weight, port_price and stay of `options`. Keeps references. O(V + E K / 64).
  PortPlan(const ListState& state, const ListOptions& options);

  /// u ends on its device now; what it sends is decided by `send`, once the nodes that it released have their devices.
  void complete(NodeId u) { ended_.push_back(u); }
  /// Raises arrival[d] to the time when v's inputs would be on device d, for every d; unsent[d]: how long ports would be busy with
  /// inputs that are not sent to d anyway. O(in-degree * K).
  void raise_inputs(NodeId v, Nanoseconds now, std::span<Nanoseconds> arrival, std::span<Nanoseconds> unsent) const;
  /// What v on d is charged for the delay of others.
  Nanoseconds charge(NodeId v, DeviceId d, Nanoseconds unsent) const {
    const bool moves = !foreseen_.empty() && foreseen_[v] != d;
    return ceil_mul_div(unsent, price_, kOne) + (moves ? ceil_mul_div(state_->costs().duration(v, d), stay_, kOne) : 0);
  }
  /// v has got its device: what it needs from nodes that have ended before now is sent. O(in-degree).
  void decide(NodeId v);
  /// When the inputs of v, decided, will be there. O(in-degree).
  Nanoseconds expected_ready(NodeId v, Nanoseconds now) const;
  /// All nodes that ended now send. O(out-degree log).
  void send(Nanoseconds now);
  /// When the inputs of v, decided and sent, are there. O(in-degree).
  Nanoseconds inputs_ready(NodeId v) const;

 private:
  struct Sent {
    DeviceId to;
    std::int32_t output;
    EdgeId edge;
    Bytes bytes;
  };
  struct Port {
    Nanoseconds free = 0;
    Nanoseconds busy_since = 0;
    Nanoseconds pending = 0;  ///< of nodes that ended now, to consumers that have just been decided
  };

  /// One slot for each (source, output).
  std::size_t slot(NodeId u, EdgeId e) const { return static_cast<std::size_t>(state_->graph().out_begin(u) + state_->graph().output(e)); }
  bool is_sent(std::size_t slot, DeviceId d) const { return (sent_to_[slot * words_ + static_cast<std::size_t>(d) / 64] >> (d % 64) & 1) != 0; }
  void mark_sent(std::size_t slot, DeviceId d) { sent_to_[slot * words_ + static_cast<std::size_t>(d) / 64] |= std::uint64_t{1} << (d % 64); }
  DeviceId destination(NodeId v) const {
    const DeviceId d = state_->device(v);
    return d != kNoDevice || foreseen_.empty() ? d : foreseen_[v];
  }
  void send_all(NodeId u, Nanoseconds now);

  const ListState* state_;
  std::span<const DeviceId> foreseen_;
  Millionths comm_weight_, price_, stay_;
  std::size_t words_;
  std::vector<std::uint64_t> sent_to_;   // by slot: a bit for each device
  std::vector<Nanoseconds> delivered_;   // by edge: at the device of its target, or at the one foreseen
  std::vector<DeviceId> delivered_to_;   // by edge: that device
  std::vector<Nanoseconds> left_;        // by node: when the last of what it sent has left; -1: not ended before now
  std::vector<Port> ports_;
  std::vector<NodeId> ended_;
  std::vector<Sent> sent_;
};

}  // namespace pardnn
