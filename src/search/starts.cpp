#include "search/starts.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "baselines/baselines.hpp"
#include "construct/affinity.hpp"
#include "construct/list_scheduler.hpp"
#include "levels/weighted_levels.hpp"
#include "parallel/random.hpp"
#include "refinement/step_one.hpp"

namespace pardnn {
namespace {

constexpr std::uint64_t kStage = 0x737461727473;  // "starts"
constexpr std::string_view kTrivial[] = {"single", "rr", "blocks", "blocks-id"};
/// Baselines that cost no more than one of our constructors: no result of a search loses to them. Those that are built only
/// where a library is found are left out, so that results do not depend on it.
constexpr std::string_view kCheap[] = {"heft", "etf", "heft-lazy", "etf-lazy", "eil", "m-topo", "m-etf", "m-sct"};
/// Up to this size (nodes and edges) the presets that search try them.
constexpr std::int64_t kCheapBaselines = 400'000;

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

void add_step_one(Pool& pool, const StartContext& context, bool initial_merge) {
  const CostModel& costs = pool.judge().costs();
  StepOneOptions options;
  options.initial_merge = initial_merge;
  if (context.seed > 1) {
    options.jitter = 100'000;
    options.jitter_seed = context.seed;
  }
  const std::string name = initial_merge ? "ParDNN" : "ParDNN without initial merge";
  // Every intermediate result is judged; a refinement that the emulated run does not confirm is dropped.
  bool refined = false;
  Score last;
  options.confirm = [&](std::span<const DeviceId> device) {
    Candidate candidate;
    candidate.score = pool.judge().score(device);
    candidate.device.assign(device.begin(), device.end());
    candidate.origin = refined ? name + ", refined" : name;
    const bool confirmed = !refined || candidate.score < last;
    if (confirmed) last = candidate.score;
    refined = true;
    pool.keep(std::move(candidate));
    return confirmed;
  };
  paper_step_one(costs, options);
}

/// Parameters with their users, spread in four ways; the rest along, or placed by EIL around them.
void add_affinity(Pool& pool, const StartContext& context) {
  const CostModel& costs = pool.judge().costs();
  const Graph& graph = costs.graph();
  const AffinityGroups groups = affinity_groups(costs);
  for (const auto& [spread, name] : {std::pair{AffinitySpread::heaviest_first, "affinity groups, heaviest first"},
                                     std::pair{AffinitySpread::cyclic, "affinity groups, cyclic"},
                                     std::pair{AffinitySpread::blocks, "affinity groups, blocks"},
                                     std::pair{AffinitySpread::blocks_memory, "affinity groups, blocks of memory"}}) {
    Constructed constructed = affinity_start(costs, groups, spread);
    if (spread == AffinitySpread::heaviest_first || spread == AffinitySpread::blocks_memory) {
      std::vector<DeviceId> given(constructed.device.size(), kNoDevice);
      for (NodeId v = 0; v < graph.num_nodes(); ++v) {
        if (graph.is_residual(graph.root(v))) given[v] = constructed.device[v];
      }
      ListOptions around;
      around.lazy_sources = true;
      around.reserve = kOne;
      around.ports = costs.machine().links == Links::ports;
      around.given = given;
      pool.add(construct_list(costs, around), std::string(name) + ", eil around");
    }
    pool.add(std::move(constructed), name);
    if (context.should_stop && context.should_stop()) return;
  }
}

bool is_start(std::string_view baseline, const Graph& graph, Preset preset) {
  const auto among = [&](const auto& names) { return std::find(std::begin(names), std::end(names), baseline) != std::end(names); };
  if (among(kTrivial)) return true;
  return preset != Preset::fast && graph.num_nodes() + graph.num_edges() <= kCheapBaselines && among(kCheap);
}

void add_baselines(Pool& pool, const StartContext& context) {
  const CostModel& costs = pool.judge().costs();
  for (const Baseline& baseline : all_baselines()) {
    if (!is_start(baseline.name, costs.graph(), context.preset)) continue;
    pool.add(baseline.run(costs), std::string(baseline.name));
    if (context.should_stop && context.should_stop()) return;
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

/// Collects variants with the defaults of the machine; seeds other than 1 vary the weights.
class VariantList {
 public:
  VariantList(const CostModel& costs, std::uint64_t seed) : seed_(seed), ports_(costs.machine().links == Links::ports) {}
  bool ports() const { return ports_; }
  std::vector<ListOptions> take() { return std::move(variants_); }
  std::vector<ListOptions>& variants() { return variants_; }

  ListOptions& plain(ListMethod method, bool lazy) {
    ListOptions options;
    options.method = method;
    options.lazy_sources = lazy;
    options.comm_weight = varied(kOne);
    variants_.push_back(options);
    return variants_.back();
  }
  ListOptions& eil(Millionths comm_weight, Millionths lookahead) {
    ListOptions& options = plain(ListMethod::eil, true);
    options.comm_weight = varied(comm_weight);
    options.lookahead = varied(lookahead);
    options.ports = ports_;
    return options;
  }
  /// EIL that keeps devices free for the heirs of what runs there.
  ListOptions& reserving(Millionths reserve, Millionths port_price, Millionths stay) {
    ListOptions& options = eil(kOne, 0);
    options.reserve = varied(reserve);
    options.port_price = varied(port_price);
    options.stay = varied(stay);
    return options;
  }

 private:
  /// Between half and double for seeds other than 1.
  Millionths varied(Millionths weight) {
    if (seed_ == 1) return weight;
    const std::uint64_t draw = random_below(random_bits(seed_, kStage, draws_++), 1'500'000);
    return weight * (500'000 + static_cast<Millionths>(draw)) / kOne;
  }

  std::uint64_t seed_, draws_ = 0;
  bool ports_;
  std::vector<ListOptions> variants_;
};

}  // namespace

std::vector<ListOptions> list_variants(const CostModel& costs, Preset preset, std::uint64_t seed) {
  VariantList list(costs, seed);
  // Ordered by how often they won on real graphs (bench/construct_table): a large graph gets only the first few.
  if (list.ports()) {
    list.reserving(1'000'000, 300'000, 1'000'000).co_inputs = 500'000;
    list.variants().back().device_ties = DeviceTies::latest_input;
    list.plain(ListMethod::etf, true);
    if (preset == Preset::fast) return list.take();
    list.reserving(2'000'000, 0, 0);
    list.reserving(1'000'000, 10'000'000, 0).co_inputs = 500'000;
    list.variants().back().comm_weight = kOne / 2;
    list.plain(ListMethod::heft, true);
    list.reserving(1'000'000, 10'000'000, 10'000'000);
    list.reserving(1'000'000, 1'000'000, 1'000'000);
    list.reserving(1'000'000, 300'000, 1'000'000).comm_weight = 2 * kOne;
    list.reserving(1'000'000, 300'000, 0).co_inputs = 500'000;
    list.variants().back().comm_weight = kOne / 2;
    list.plain(ListMethod::etf, true).comm_weight = 2 * kOne;
    list.reserving(1'000'000, 1'000'000, 0).co_inputs = 500'000;
    list.variants().back().device_ties = DeviceTies::latest_input;
    list.variants().back().dispatch = Dispatch::bottom_level;
    list.reserving(1'000'000, 300'000, 0).dispatch = Dispatch::bottom_level;
    list.plain(ListMethod::etf, false);
    for (const Millionths weight : {1'500'000, 2'500'000, 5'000'000, 10'000'000}) list.eil(weight, 500'000);
  } else {
    list.reserving(2'000'000, 0, 0).co_inputs = 500'000;
    list.variants().back().device_ties = DeviceTies::latest_input;
    list.plain(ListMethod::etf, true);
    if (preset == Preset::fast) return list.take();
    list.reserving(1'000'000, 0, 0).co_inputs = 500'000;
    list.variants().back().device_ties = DeviceTies::latest_input;
    list.reserving(2'000'000, 0, 0).comm_weight = kOne / 2;
    list.variants().back().queue_estimate = QueueEstimate::plan;
    list.plain(ListMethod::heft, true);
    list.reserving(4'000'000, 0, 0);
    list.reserving(1'000'000, 0, 0).co_inputs = 500'000;
    list.reserving(1'000'000, 0, 0).comm_weight = kOne / 2;
    list.reserving(2'000'000, 0, 0);
    list.plain(ListMethod::etf, false);
    list.plain(ListMethod::etf, true).comm_weight = 2 * kOne;
    list.eil(500'000, 500'000);
    list.eil(kOne, 0);
    list.eil(250'000, 500'000);
  }
  list.eil(kOne, 0).lazy_sources = false;
  list.eil(500'000, 500'000).co_inputs = 500'000;
  list.eil(kOne, 0).dispatch = Dispatch::bottom_level;
  list.plain(ListMethod::etf, false).favourite_children = true;
  list.eil(kOne, 0).decide_first = DecideFirst::lower_file_id;
  list.eil(500'000, 0).queue_estimate = QueueEstimate::plan;
  list.plain(ListMethod::heft, false);
  for (const Millionths weight : {1'500'000, 5'000'000}) {
    if (!list.ports()) list.eil(weight, 0);
    list.plain(ListMethod::etf, true).comm_weight = weight;
  }
  const DeviceId all = costs.num_devices();
  for (DeviceId devices = all / 2; devices >= 2; devices /= 2) {
    list.reserving(1'000'000, 0, 0).devices = first_devices(devices, all);
    list.plain(ListMethod::etf, true).devices = first_devices(devices, all);
  }
  if (preset == Preset::strong) {
    for (const Millionths weight : {250'000, 500'000, 750'000, 1'000'000, 1'500'000, 2'500'000, 5'000'000, 10'000'000}) {
      for (const Millionths lookahead : {0, 500'000, 1'000'000}) {
        for (const QueueEstimate estimate : {QueueEstimate::work, QueueEstimate::plan}) {
          list.eil(weight, lookahead).queue_estimate = estimate;
          list.variants().back().reserve = lookahead == 0 ? kOne : 0;
        }
      }
      list.plain(ListMethod::heft, true).comm_weight = weight;
    }
    for (DeviceId devices = all - 1; devices >= 2; --devices) {
      if (devices > 16 && devices % (all / 16) != 0) continue;
      list.reserving(1'000'000, 0, 0).devices = first_devices(devices, all);
    }
  }
  return list.take();
}

namespace {

/// Node and edge visits that a preset's constructors may take in all; at least the first variants always run.
std::int64_t constructor_budget(Preset preset) {
  return preset == Preset::strong ? 400'000'000 : 12'000'000;
}

/// How many variants a graph of this size gets, and how many rounds of feedback.
struct Effort {
  std::size_t variants;
  int feedback;
};

Effort effort_for(const Graph& graph, const StartContext& context, std::size_t variants) {
  constexpr std::size_t kLeast = 5;
  const std::int64_t runs = constructor_budget(context.preset) / (graph.num_nodes() + graph.num_edges() + 1);
  const int feedback = feedback_rounds(context.preset);
  if (runs >= static_cast<std::int64_t>(variants) * (feedback + 1)) return {variants, feedback};
  return {std::min(variants, std::max<std::size_t>(kLeast, static_cast<std::size_t>(runs))), 0};
}

}  // namespace

std::int64_t count_starts(const CostModel& costs, const StartContext& context) {
  const std::size_t variants = list_variants(costs, context.preset, context.seed).size();
  return 3 + static_cast<std::int64_t>(effort_for(costs.graph(), context, variants).variants);
}

void add_starts(Pool& pool, const StartContext& context) {
  std::int64_t done = 0;
  const auto step = [&] {
    if (context.progress) context.progress(++done);
    return context.should_stop && context.should_stop();
  };
  const CostModel& costs = pool.judge().costs();
  add_baselines(pool, context);
  if (step()) return;
  add_step_one(pool, context, true);
  if (step()) return;
  if (context.preset != Preset::fast) {
    add_step_one(pool, context, false);
    add_affinity(pool, context);
  }
  if (step()) return;
  std::vector<ListOptions> variants = list_variants(costs, context.preset, context.seed);
  const Effort effort = effort_for(costs.graph(), context, variants.size());
  variants.resize(effort.variants);
  for (const ListOptions& variant : variants) {
    add_variant(pool, variant, effort.feedback);
    if (!pool.best().score.feasible() || context.preset == Preset::strong) add_budgeted(pool, variant, context);
    if (step()) return;
  }
}

}  // namespace pardnn
