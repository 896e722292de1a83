/// A checkpoint as its file gives it (HDF5): which run it belongs to, which seeds are done, the best placement of those.
///
///   attributes format = "pardnn-checkpoint", version = 1, seeds_done (for people), and run_NAME for each thing that the run's result
///   depends on; /done int64[2 n], first and last index of each range of done seeds, increasing; where there is a best placement:
///   best_index, overflow_bytes, makespan_ns, peak_bytes, origin, /device int32[V] and, if it has one, /priority int64[V], in file order
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "pardnn/ids.hpp"
#include "pardnn/units.hpp"

namespace pardnn {

/// Name and value of each thing that a run's result depends on.
using RunIdentity = std::vector<std::pair<std::string, std::string>>;

struct CheckpointBest {
  std::int64_t index = 0;
  Bytes overflow = 0, peak = 0;
  Nanoseconds makespan = 0;
  std::string origin;
  std::vector<DeviceId> device;        ///< V
  std::vector<std::int64_t> priority;  ///< V, or empty
};

struct CheckpointFile {
  RunIdentity run;
  std::vector<std::int64_t> done;
  std::optional<CheckpointBest> best;
};

/// Reads `file`, which must exist, for a run of this identity. Throws InputError in one line: no checkpoint, of another run (and what differs),
/// damaged.
CheckpointFile read_checkpoint_file(const std::string& file, const RunIdentity& run, std::int64_t num_nodes);

/// Writes atomically. Throws SystemError.
void write_checkpoint_file(const std::string& file, const CheckpointFile& checkpoint);

}  // namespace pardnn
