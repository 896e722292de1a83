/// One set of options for all list schedulers, so that a portfolio can enumerate variants.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "pardnn/ids.hpp"
#include "pardnn/units.hpp"

namespace pardnn {

struct ListOrder;

enum class ListMethod : std::uint8_t {
  heft,  ///< heft.hpp: greatest bottom level first, earliest finish, insertion
  etf,   ///< etf.hpp: the (node, device) pair that can start first
  eil    ///< eil.hpp: decides inside the emulated run, when the last predecessor finishes
};

/// EIL: which device a node takes when two give it the same score.
enum class DeviceTies : std::uint8_t {
  lower_index,
  latest_input  ///< the device that the latest input comes from, then the lower index
};

/// EIL: which of the nodes that become ready in the same round chooses its device first.
enum class DecideFirst : std::uint8_t { lower_file_id, greater_bottom_level };

/// EIL: how the devices of its run pick from their ready nodes.
enum class Dispatch : std::uint8_t { fifo, bottom_level };

/// EIL: when a device is expected to be free for one more node.
enum class QueueEstimate : std::uint8_t {
  work,  ///< when the work queued there is done, if it never waits for inputs
  plan   ///< when the nodes queued there are done, in order of decision and each no earlier than its inputs
};

/// Devices first .. last - 1; none if they are equal.
struct DeviceRange {
  DeviceId first = 0, last = 0;
  bool empty() const { return first == last; }
  bool contains(DeviceId d) const { return first <= d && d < last; }
};

/// Plain data. Spans must outlive the call.
struct ListOptions {
  ListMethod method = ListMethod::eil;
  /// Nodes of zero duration without predecessors, or with none but such, go to the device of their first consumer.
  bool lazy_sources = false;
  /// EIL, with lazy_sources: run again with the devices of lazy units fixed, so that the plan is an exact emulated run.
  bool settle_again = true;
  /// Factor on transfer times in decisions, millionths, >= 0. Planned times always use true transfer times.
  Millionths comm_weight = kOne;
  /// EIL: factor, millionths, on the costliest transfer from the node to a consumer whose unit has its device already.
  Millionths lookahead = 0;
  /// EIL: factor, millionths, on the cheaper of the two transfers that a consumer needs if its other placed input stays on another device.
  Millionths co_inputs = 0;
  /// EIL: factor, millionths, on how long a node would keep the heir of another one from starting on the device that is reserved for it
  /// (reservations.hpp). 1 is best nearly everywhere: 2 to 10 % on training graphs against 0.
  Millionths reserve = 0;
  /// EIL: nodes shorter than this factor, millionths, times the mean duration are no heirs: those behind them are. 0.03 to 1 differ little.
  Millionths heir_through = kOne / 10;
  QueueEstimate queue_estimate = QueueEstimate::work;
  DeviceTies device_ties = DeviceTies::lower_index;
  DecideFirst decide_first = DecideFirst::greater_bottom_level;
  Dispatch dispatch = Dispatch::fifo;
  /// ETF: a device waits for the favourite child of its last node for as long as that child would wait for its input elsewhere (SCT).
  bool favourite_children = false;
  /// EIL: transfers wait for the sender's port (port_plan.hpp).
  bool ports = false;
  /// EIL, with ports: the device of each node (V) in a plan made before, so that what is sent to nodes without a device is foreseen; empty: none.
  std::span<const DeviceId> foreseen = {};
  /// EIL, with ports: factor, millionths, on the time that ports would be busy for a node's inputs, charged for the delay of other transfers.
  Millionths port_price = 0;
  /// EIL, with ports: factor, millionths, on the duration of a node, charged on devices other than the foreseen one.
  Millionths stay = 0;
  /// Devices that free nodes may use, increasing; empty: all. Pinned nodes ignore it.
  std::vector<DeviceId> devices;
  /// EIL: devices among which each node chooses (V; an empty range: all); empty: no node is restricted.
  std::span<const DeviceRange> teams = {};
  /// ETF, EIL: usable bytes of each device; empty: unlimited. A device that would overflow, by an estimate of live bytes, is
  /// taken only if none fits.
  std::vector<Bytes> budget;
  /// Bottom levels to rank by (V); empty: those of the unplaced graph (mean costs). Those of a placed graph feed back.
  std::span<const Nanoseconds> bottom_levels = {};
  /// The order by bottom_levels, where it is known already (list_order.hpp); null: it is found.
  const ListOrder* order = nullptr;
  /// False where only devices are wanted: the plan's priorities and start times are left out then.
  bool plan_order = true;
  /// Devices fixed beforehand (V, kNoDevice where free), for the node and its unit; empty: none.
  std::span<const DeviceId> given = {};
};

}  // namespace pardnn
