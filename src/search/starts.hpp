/// Where a search starts: the published method, the list schedulers in their variants, and the trivial placements that no
/// result may lose to.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "construct/list_options.hpp"
#include "pardnn/options.hpp"
#include "search/pool.hpp"

namespace pardnn {

struct StartContext {
  Preset preset = Preset::standard;
  std::uint64_t seed = 1;
  std::function<bool()> should_stop;            ///< may be empty
  std::function<void(std::int64_t)> progress;   ///< told how many starts are done
};

/// True if the cheap baselines, and the published method as published, are among the starts.
bool tries_baselines(const Graph& graph, Preset preset);

/// How many steps add_starts reports.
std::int64_t count_starts(const CostModel& costs, const StartContext& context);

/// Adds every start of the preset to `pool`; the first one is always added, however soon should_stop says so.
void add_starts(Pool& pool, const StartContext& context);

}  // namespace pardnn
