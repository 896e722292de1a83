/// A second, slow implementation of model.md, written from its text alone: what the product says is held against it.
///
/// It works on the graph as its file gives it (file ids everywhere), steps through every event time, searches its
/// queues linearly and adds up memory anew at every moment. It shares no code with the product.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pardnn/graph.hpp"
#include "pardnn/machine.hpp"
#include "pardnn/placement.hpp"

namespace pardnn::test {

/// One edge after the merging of parallel ones (graph-format.md, /edges/output).
struct OracleEdge {
  std::int64_t from = 0, to = 0, output = 0;
  Bytes bytes = 0;
};

/// The merged edges, sorted by (from, to, output).
std::vector<OracleEdge> oracle_edges(const GraphData& data);

/// Model.md, Cost.
Nanoseconds oracle_duration(const GraphData& data, const Machine& machine, std::int64_t node, DeviceId device);
Nanoseconds oracle_cost(const Machine& machine, Bytes bytes, DeviceId from, DeviceId to);
Nanoseconds oracle_mean_cost(const Machine& machine, Bytes bytes);

/// Model.md, Emulated run. By file id.
struct OracleRun {
  std::vector<Nanoseconds> start, finish, ready;
  /// Which round of the whole run the node started in.
  std::vector<std::int64_t> round;
  /// Delivery time of each edge of `oracle_edges`.
  std::vector<Nanoseconds> delivered;
  Nanoseconds makespan = 0;

  /// File ids by (start, round, device): placement-format.md, /order.
  std::vector<std::int64_t> start_order(const std::vector<DeviceId>& device) const;
};

/// `priority` may be empty (bottom levels of the placed graph); it is ignored under fifo.
OracleRun oracle_run(const GraphData& data, const Machine& machine, const std::vector<DeviceId>& device, Policy policy,
                     const std::vector<std::int64_t>& priority = {});

/// Model.md, Memory: the greatest sum on each device.
std::vector<Bytes> oracle_peaks(const GraphData& data, const Machine& machine, const std::vector<DeviceId>& device,
                                const OracleRun& run);

/// Which of "colocation", "alias", "fixed" the placement breaks, in this order.
std::vector<std::string> oracle_broken(const GraphData& data, const std::vector<DeviceId>& device);

Nanoseconds oracle_lower_bound(const GraphData& data, const Machine& machine);

/// floor(capacity * (10^6 - headroom) / 10^6); unlimited stays unlimited.
Bytes oracle_usable(const Machine& machine, DeviceId device);

struct OracleVerdict {
  OracleRun run;
  Nanoseconds lower_bound = 0;
  std::vector<std::string> broken;
  bool feasible = false;
  std::vector<Bytes> peak, usable, overflow;
  std::vector<Nanoseconds> busy;
  std::vector<std::int64_t> nodes;
  std::vector<bool> parameter_free;
  std::int64_t cut_edges = 0;
  Bytes cut_bytes = 0;
};

OracleVerdict oracle_judge(const GraphData& data, const Machine& machine, const std::vector<DeviceId>& device, Policy policy,
                           const std::vector<std::int64_t>& priority = {});

}  // namespace pardnn::test
