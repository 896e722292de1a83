/// One placement judged: what the JSON result and the tables for people are made from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pardnn/machine.hpp"
#include "pardnn/placement.hpp"
#include "pardnn/progress.hpp"

namespace pardnn::cli {

struct Outcome {
  std::string method;
  Policy policy = Policy::fifo;
  Links links = Links::free;
  std::optional<std::string> preset;  ///< only where the method has presets
  std::optional<std::uint64_t> seed;
  int seeds = 1;
  std::optional<std::uint64_t> best_seed;  ///< the one of them that led to the placement
  int ranks = 1;
  int threads = 1;  ///< of each rank
  Evaluation evaluation;
  /// Smallest equal per-device capacity for which the placement would fit; 0 if not asked.
  Bytes capacity_needed = 0;
  bool cannot_fit = false;
  std::string proof;
  /// Proven: equal devices of less capacity fit no placement; 0 if not asked.
  Bytes capacity_bound = 0;
  std::vector<std::string> warnings;
  std::vector<StageTime> stages;
  double elapsed_seconds = 0;
  /// "time limit", "signal 15"; empty if it ran to its end.
  std::string stopped_by;
  /// The run goes on: this is its best so far.
  bool unfinished = false;

  double ratio() const;
  std::vector<std::string> empty_devices() const;
};

/// Smallest equal capacity, with `headroom` left free, in which `peak` bytes fit: least c with floor(c (10^6 - h) / 10^6) >= peak.
Bytes capacity_for(Bytes peak, Millionths headroom);

}  // namespace pardnn::cli
