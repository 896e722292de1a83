/// A placement, and everything that can be said about one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "pardnn/ids.hpp"
#include "pardnn/units.hpp"

namespace pardnn {

/// How an idle device picks from its ready nodes (model.md): the earliest ready, or the greatest priority.
enum class Policy { fifo, priority };

/// Device of each node, in the graph's internal numbering (`Graph::to_file_order` gives the file's).
struct Placement {
  std::vector<DeviceId> device;
  /// Under Policy::priority: greater runs first. Empty: bottom levels of the placed graph.
  std::vector<std::int64_t> priority;
};

struct DeviceReport {
  std::string name;
  Bytes capacity = 0, usable = 0, peak = 0, overflow = 0;
  Nanoseconds busy = 0;
  std::int64_t nodes = 0;
  /// No residual (parameter, optimizer state) lives here.
  bool parameter_free = true;
};

/// What model.md says of one placement on one machine under one policy.
struct Evaluation {
  Nanoseconds makespan = 0;
  Nanoseconds lower_bound = 0;
  /// A proven bound at least as good as `lower_bound`.
  Nanoseconds best_bound = 0;
  bool feasible = false;
  /// Which of "colocation", "alias", "fixed" the placement breaks; peaks mean nothing then.
  std::vector<std::string> broken;
  std::vector<DeviceReport> devices;
  std::int64_t cut_edges = 0;
  Bytes cut_bytes = 0;

  Bytes greatest_peak() const;
  Bytes total_overflow() const;
};

}  // namespace pardnn
