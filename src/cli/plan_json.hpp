/// Plans as JSON: the chosen one, which runtimes and job scripts read ("pardnn-plan"), and all that were judged ("pardnn-plans").
///
/// pardnn-plan, version 1: {"format", "version", "graph": {"name", "nodes", "edges", "fingerprint"}, "machine": (machine-format.md), "policy", "links", "headroom": "0.1",
///   "bucket_bytes", "samples_per_step", "replicas": R, "devices_per_replica": K, "devices_used", "samples_per_second", "step_ns", "step_alone_ns" (without
///   reductions), "greatest_reduction_ns", "buckets", "reduced_bytes", "feasible", "cannot_fit", "distinct_slices", "method",
///   "devices": [{"device", "peak_bytes", "overflow_bytes"}] (of one replica, buckets counted),
///   "hosts": [{"host" (as in the machine), "name" (of the job, or null), "devices", "ranks"}],
///   "ranks": [{"rank", "replica", "device" (of the placement), "machine_device", "device_name", "host", "host_name", "local_device" (its place in the host)}],
///   "placement": FILE relative to the plan's folder, or the device of each node in the graph file's order, then with "order": the rank of each node's start}
/// pardnn-plans, version 1: the same head, "rows": all splits with the fields from "replicas" to "devices", "chosen": index of the best row.
/// Fields may be added, never changed within a version.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/loaded_graph.hpp"
#include "cli/plan_hosts.hpp"
#include "pardnn/machine.hpp"
#include "pardnn/placement.hpp"
#include "plan/planner.hpp"

namespace pardnn::cli {

/// What all rows of a plan share.
struct PlanSetting {
  const LoadedGraph& loaded;
  const Machine& machine;
  const std::vector<PlanHost>& hosts;
  Policy policy;
  Bytes bucket_bytes = 0;
};

/// The devices of a plan, in the file's node order, and the order in which a runtime starts the nodes.
struct InlinePlacement {
  std::vector<DeviceId> device;
  std::vector<std::int64_t> order;
};

/// Ranks are numbered host by host in the machine's order, replica by replica: rank = replica * K + device. `file`: the placement, as the reader of the
/// plan finds it; without one `placement` stands in the plan itself.
std::string plan_json(const PlanSetting& setting, const PlanRow& row, const std::string& file, const InlinePlacement& placement);

/// All rows; `chosen` is the best.
std::string plans_json(const PlanSetting& setting, const std::vector<PlanRow>& rows, std::size_t chosen, const std::vector<std::string>& warnings,
                       const std::string& stopped_by, double elapsed_seconds);

}  // namespace pardnn::cli
