/// EIL: time that a device keeps for the heirs of what was placed there.
///
/// When a node goes to a device, the chain that it lies on will most likely go on there. A node that comes first and takes long
/// delays that chain, since nothing is preempted: a weight gradient that becomes ready together with a view, behind which the
/// input gradient waits. The constructor charges such a node for the delay, so that it goes elsewhere if its transfers cost less.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "construct/list_options.hpp"
#include "construct/list_state.hpp"

namespace pardnn {

class Reservations {
 public:
  /// Finds the heir of each node: the successor with the best `rank` (list_order.hpp), and on from there as long as it is shorter than
  /// heir_through times the mean duration. Keeps references to all three. O(V + E).
  Reservations(const ListState& state, std::span<const std::int64_t> rank, const ListOptions& options);

  /// A node that asks for a device: it would find the device free at `free`, have its inputs there at `ready`, and end at `end`.
  struct Request {
    NodeId node;
    Nanoseconds free, ready, end;
  };
  /// `request.end`, later if an heir with a better rank would go first, plus `reserve` times what such an heir would wait for the
  /// node otherwise; the worst of all heirs that `d` is reserved for. O(kMost).
  Nanoseconds charged_end(const Request& request, DeviceId d) const;

  /// v was placed on d and is expected to end at `end`: d is reserved for its heir, if that has no device yet. The latest reservation of an
  /// heir counts. O(kMost).
  void reserve(NodeId v, DeviceId d, Nanoseconds end);

 private:
  struct Heir {
    NodeId node = -1;
    std::int64_t last_id = 0;  ///< greatest file id from the node behind v to the heir: who is ready at the same time and has a lower id goes first
  };
  struct Reservation {
    NodeId heir;
    std::int64_t last_id;
    Nanoseconds ready;
  };
  static constexpr std::size_t kMost = 4;  ///< reservations of a device; those of the best ranks stay

  bool holds(const Reservation& reservation, DeviceId d) const {
    return reserved_on_[reservation.heir] == d && state_->device(reservation.heir) == kNoDevice;
  }
  bool goes_after(const Request& request, const Reservation& reservation, DeviceId d) const;

  const ListState* state_;
  std::span<const std::int64_t> rank_;
  Millionths weight_;
  bool fifo_;
  std::vector<Heir> heirs_;             // by node
  std::vector<DeviceId> reserved_on_;   // by heir: the device of its latest reservation
  std::vector<std::vector<Reservation>> by_device_;
};

}  // namespace pardnn
