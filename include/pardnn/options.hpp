/// Options of a run. Plain data, filled before it, const during it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "pardnn/placement.hpp"
#include "pardnn/progress.hpp"

namespace pardnn {

/// How much work a run spends: one pass of the method; the pass and a bounded search; search until it stops paying.
enum class Preset { fast, standard, strong };

struct Options {
  Preset preset = Preset::standard;
  Policy policy = Policy::fifo;
  /// First seed; a run explores seeds `seed .. seed + seeds - 1`.
  std::uint64_t seed = 1;
  int seeds = 1;
  /// 0: as many as this process may use. Never changes a result.
  int threads = 0;
  /// A placement to start from (internal numbering), beside the tool's own starts.
  std::optional<Placement> start;
  /// Asked between steps, on the thread that called; true ends the run early with the best placement so far. Empty: never.
  std::function<bool()> should_stop;
  /// May be null.
  Progress* progress = nullptr;
};

}  // namespace pardnn
