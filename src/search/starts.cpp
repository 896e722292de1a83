#include "search/starts.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "baselines/baselines.hpp"
#include "construct/list_scheduler.hpp"
#include "levels/weighted_levels.hpp"
#include "parallel/random.hpp"
#include "refinement/step_one.hpp"

namespace pardnn {
namespace {

constexpr std::uint64_t kStage = 0x737461727473;  // "starts"
constexpr std::string_view kTrivial[] = {"single", "rr", "blocks", "blocks-id"};

int feedback_rounds(Preset preset) {
  switch (preset) {
    case Preset::fast: return 0;
    case Preset::standard: return 2;
    case Preset::strong: return 3;
  }
  return 0;
}

/// Budgets for constructors that look at memory while they place: usable bytes, all of them and a part (their estimate is no emulation).
std::vector<Millionths> budget_shares(Preset preset) {
  if (preset == Preset::fast) return {900'000};
  if (preset == Preset::standard) return {1'000'000, 900'000, 750'000};
  return {1'000'000, 950'000, 900'000, 800'000, 700'000, 600'000, 500'000};
}

/// The first `k` devices in the machine's order, or all (empty).
std::vector<DeviceId> first_devices(DeviceId k, DeviceId all) {
  std::vector<DeviceId> devices;
  if (k < all) {
    for (DeviceId d = 0; d < k; ++d) devices.push_back(d);
  }
  return devices;
}

void add_step_one(Pool& pool, const StartContext& context) {
  const CostModel& costs = pool.judge().costs();
  StepOneOptions options;
  if (context.seed > 1) {
    options.jitter = 100'000;
    options.jitter_seed = context.seed;
  }
  // Every intermediate result is judged; a refinement that the emulated run does not confirm is dropped.
  bool refined = false;
  Score last;
  options.confirm = [&](std::span<const DeviceId> device) {
    Candidate candidate;
    candidate.score = pool.judge().score(device);
    candidate.device.assign(device.begin(), device.end());
    candidate.origin = refined ? "ParDNN, refined" : "ParDNN";
    const bool confirmed = !refined || candidate.score < last;
    if (confirmed) last = candidate.score;
    refined = true;
    pool.keep(std::move(candidate));
    return confirmed;
  };
  paper_step_one(costs, options);
}

void add_trivial(Pool& pool) {
  for (const Baseline& baseline : all_baselines()) {
    if (std::find(std::begin(kTrivial), std::end(kTrivial), baseline.name) == std::end(kTrivial)) continue;
    pool.add(baseline.run(pool.judge().costs()), std::string(baseline.name));
  }
}

void add_variant(Pool& pool, ListOptions options, int rounds) {
  const CostModel& costs = pool.judge().costs();
  const std::string name = variant_name(options);
  if (rounds == 0) {
    pool.add(construct_list(costs, options), name);
    return;
  }
  int round = 0;
  for (Constructed& constructed : construct_with_feedback(costs, options, rounds)) {
    pool.add(std::move(constructed), round == 0 ? name : name + ", feedback " + std::to_string(round));
    ++round;
  }
}

/// The same variant with memory in mind, for each share of usable memory as its budget.
void add_budgeted(Pool& pool, ListOptions options, const StartContext& context) {
  if (!pool.judge().memory_matters() || options.method == ListMethod::heft) return;
  const DeviceId devices = pool.judge().costs().num_devices();
  for (const Millionths share : budget_shares(context.preset)) {
    options.budget.clear();
    for (DeviceId d = 0; d < devices; ++d) {
      __extension__ using Wide = __int128;
      options.budget.push_back(static_cast<Bytes>(Wide(pool.judge().usable(d)) * share / kOne));
    }
    add_variant(pool, options, 0);
    if (context.should_stop && context.should_stop()) return;
  }
}

}  // namespace

std::vector<ListOptions> list_variants(const CostModel& costs, Preset preset, std::uint64_t seed) {
  const DeviceId all = costs.num_devices();
  const bool ports = costs.machine().links == Links::ports;
  std::vector<ListOptions> variants;
  const auto add = [&](ListMethod method, bool lazy, Millionths weight, DeviceId devices) {
    ListOptions options;
    options.method = method;
    options.lazy_sources = lazy;
    options.comm_weight = weight;
    options.ports = ports && method == ListMethod::eil;
    options.devices = first_devices(devices, all);
    if (seed > 1) {
      // Other seeds explore other weights: between half and double.
      const std::uint64_t draw = random_below(random_bits(seed, kStage, variants.size()), 1'500'000);
      options.comm_weight = weight * (500'000 + static_cast<Millionths>(draw)) / kOne;
    }
    variants.push_back(options);
  };
  add(ListMethod::eil, true, kOne, all);
  add(ListMethod::etf, true, kOne, all);
  if (preset == Preset::fast) return variants;
  add(ListMethod::heft, true, kOne, all);
  add(ListMethod::eil, false, kOne, all);
  add(ListMethod::etf, false, kOne, all);
  add(ListMethod::heft, false, kOne, all);
  for (const Millionths weight : {1'500'000, 2'500'000, 5'000'000, 500'000}) {
    add(ListMethod::eil, true, weight, all);
    add(ListMethod::etf, true, weight, all);
  }
  for (const DecideFirst first : {DecideFirst::lower_file_id, DecideFirst::greater_bottom_level}) {
    for (const DeviceTies ties : {DeviceTies::lower_index, DeviceTies::latest_input}) {
      for (const Dispatch dispatch : {Dispatch::fifo, Dispatch::bottom_level}) {
        if (first == DecideFirst::lower_file_id && ties == DeviceTies::lower_index && dispatch == Dispatch::fifo) continue;
        add(ListMethod::eil, true, kOne, all);
        variants.back().decide_first = first;
        variants.back().device_ties = ties;
        variants.back().dispatch = dispatch;
      }
    }
  }
  for (const Millionths lookahead : {500'000, 1'000'000}) {
    add(ListMethod::eil, true, kOne, all);
    variants.back().lookahead = lookahead;
  }
  for (DeviceId devices = all / 2; devices >= 2; devices /= 2) {
    add(ListMethod::eil, true, kOne, devices);
    add(ListMethod::etf, true, kOne, devices);
  }
  if (preset == Preset::strong) {
    for (const Millionths weight : {1'250'000, 2'000'000, 3'500'000, 8'000'000, 16'000'000}) {
      for (const bool lazy : {true, false}) {
        add(ListMethod::eil, lazy, weight, all);
        add(ListMethod::heft, lazy, weight, all);
      }
    }
    for (DeviceId devices = all - 1; devices >= 2; --devices) {
      if (devices > 16 && devices % (all / 16) != 0) continue;
      add(ListMethod::eil, true, kOne, devices);
    }
  }
  return variants;
}

std::int64_t count_starts(const CostModel& costs, const StartContext& context) {
  return 2 + static_cast<std::int64_t>(list_variants(costs, context.preset, context.seed).size());
}

void add_starts(Pool& pool, const StartContext& context) {
  std::int64_t done = 0;
  const auto step = [&] {
    if (context.progress) context.progress(++done);
    return context.should_stop && context.should_stop();
  };
  add_trivial(pool);
  if (step()) return;
  add_step_one(pool, context);
  if (step()) return;
  for (const ListOptions& variant : list_variants(pool.judge().costs(), context.preset, context.seed)) {
    add_variant(pool, variant, feedback_rounds(context.preset));
    if (!pool.best().score.feasible() || context.preset == Preset::strong) add_budgeted(pool, variant, context);
    if (step()) return;
  }
}

}  // namespace pardnn
