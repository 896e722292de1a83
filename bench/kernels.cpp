// Google Benchmark of the stages, one by one, on generated deep, wide and transformer graphs of 10^4 to 10^6 nodes, of 10^7 where
// --benchmark_filter names that size, and on the graph file of PARDNN_BENCH_GRAPH. Names are GRAPH/NODES/KERNEL; items are nodes and edges.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "construct/eil.hpp"
#include "construct/etf.hpp"
#include "emulation/emulator.hpp"
#include "judge/judge.hpp"
#include "levels/weighted_levels.hpp"
#include "mapping/mapper.hpp"
#include "memory/memory_profile.hpp"
#include "pardnn/io.hpp"
#include "parallel/threads.hpp"
#include "repair/overflow_repair.hpp"
#include "slicing/slicer.hpp"
#include "subject.hpp"

namespace {

using namespace pardnn;
using bench::GraphSource;
using bench::Subject;
using benchmark::DoNotOptimize;
using benchmark::State;

constexpr std::int64_t kGreatestSize = 10'000'000;

/// Visits that repair may spend on each node and edge: about ten emulated runs.
constexpr std::int64_t kRepairVisits = 20;

void levels(State& state, Subject& on) {
  for (auto step : state) DoNotOptimize(weighted_levels(on.costs(Links::free)));
}

void slicing(State& state, Subject& on) {
  const SlicingOptions options{.primaries = on.costs(Links::free).num_devices()};
  for (auto step : state) DoNotOptimize(slice_graph(on.costs(Links::free), options));
}

/// Initial merge and level-aware load balancing of the sliced graph.
void mapping(State& state, Subject& on) {
  const Clustering& clustering = on.clustering();
  const LevelIndex& index = on.index();
  for (auto step : state) DoNotOptimize(map_clusters(on.costs(Links::free), clustering, index, {}));
}

/// Level-aware load balancing alone: every secondary.
void lalb(State& state, Subject& on) {
  const Clustering& clustering = on.clustering();
  const LevelIndex& index = on.index();
  for (auto step : state) DoNotOptimize(map_clusters(on.costs(Links::free), clustering, index, {.initial_merge = false}));
}

void construct_eil(State& state, Subject& on) {
  for (auto step : state) DoNotOptimize(eil(on.costs(Links::free), bench::eil_options()));
}

void construct_etf(State& state, Subject& on) {
  for (auto step : state) DoNotOptimize(etf(on.costs(Links::free), bench::eil_options()));
}

void emulation(State& state, Subject& on, Policy policy, Links links) {
  const Constructed& placement = on.placement();
  Emulator emulator(on.costs(links));
  const std::span<const std::int64_t> priority = policy == Policy::fifo ? std::span<const std::int64_t>{} : placement.priority;
  for (auto step : state) DoNotOptimize(emulator.run(placement.device, policy, priority).makespan);
}

void emulation_fifo(State& state, Subject& on) { emulation(state, on, Policy::fifo, Links::free); }
void emulation_priority(State& state, Subject& on) { emulation(state, on, Policy::priority, Links::free); }
void emulation_ports(State& state, Subject& on) { emulation(state, on, Policy::fifo, Links::ports); }

void memory(State& state, Subject& on) {
  const Constructed& placement = on.placement();
  Emulator emulator(on.costs(Links::free));
  const Schedule& schedule = emulator.run(placement.device, Policy::fifo);
  MemoryTracker tracker(on.costs(Links::free));
  for (auto step : state) DoNotOptimize(tracker.track(placement.device, schedule, emulator.delivered()).peak.data());
}

/// Overflow repair of a placement whose fullest device lacks a tenth, on a budget that grows with the graph. `left`: share of the overflow that is left.
void repair(State& state, Subject& on) {
  const Constructed& placement = on.placement();
  Judge judge(on.tight_costs(), Policy::fifo);
  const Bytes before = judge.score(placement.device).overflow;
  RepairOptions options;
  options.visits = kRepairVisits * (on.graph().num_nodes() + on.graph().num_edges());
  options.least_runs = 1;
  Bytes after = before;
  for (auto step : state) after = repair_overflow(judge, placement.device, {}, options).score.overflow;
  state.counters["left"] = before == 0 ? 0 : static_cast<double>(after) / static_cast<double>(before);
}

void count_file(State& state, const std::string& file) {
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(std::filesystem::file_size(file)));
}

/// Reads, decodes and checks the file; the graph is not renumbered.
void hdf5_read(State& state, Subject& on) {
  const std::string& file = on.hdf5_file();
  for (auto step : state) DoNotOptimize(read_graph_data(file));
  count_file(state, file);
}

void hdf5_write(State& state, Subject& on) {
  const std::string file = on.hdf5_file() + ".written.h5";
  const GraphData data = on.source().load();
  for (auto step : state) write_graph_data(file, data);
  count_file(state, file);
  std::filesystem::remove(file);
}

/// Checks, renumbers and fingerprints what was read.
void graph_build(State& state, Subject& on) {
  const GraphData data = on.source().load();
  for (auto step : state) {
    state.PauseTiming();
    GraphData copy = data;
    state.ResumeTiming();
    const Graph graph(std::move(copy));
    DoNotOptimize(graph.num_nodes());
  }
}

struct Kernel {
  const char* name;
  void (*run)(State&, Subject&);
  int most_threads = 1;
};

constexpr Kernel kKernels[] = {
    {"graph_build", graph_build}, {"levels", levels, 2}, {"slicing", slicing},
    {"mapping", mapping}, {"lalb", lalb}, {"eil", construct_eil},
    {"etf", construct_etf}, {"emulation_fifo", emulation_fifo}, {"emulation_priority", emulation_priority},
    {"emulation_ports", emulation_ports}, {"memory", memory}, {"repair", repair},
    {"hdf5_read", hdf5_read}, {"hdf5_write", hdf5_write},
};

void add_benchmark(const GraphSource& source, const Kernel& kernel, int threads) {
  std::string name = fmt::format("{}/{}/{}", source.shape, source.nodes, kernel.name);
  if (kernel.most_threads > 1) name += fmt::format("/threads:{}", threads);
  auto* added = benchmark::RegisterBenchmark(name.c_str(), [source, kernel, threads](State& state) {
    const ThreadScope scope(threads);
    Subject& on = bench::subject(source);
    kernel.run(state, on);
    const Graph& graph = on.graph();
    state.SetItemsProcessed(state.iterations() * (graph.num_nodes() + graph.num_edges()));
    state.SetLabel(fmt::format("nodes={} edges={} depths={}", graph.num_nodes(), graph.num_edges(), graph.num_depths()));
  });
  added->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime();
  added->ComputeStatistics("min", [](const std::vector<double>& runs) { return std::ranges::min(runs); });
  if (kernel.most_threads > 1) added->UseRealTime();
}

/// By graph, then kernel: each graph is made once.
std::vector<GraphSource> sources() {
  const bool greatest = benchmark::GetBenchmarkFilter().find(std::to_string(kGreatestSize)) != std::string::npos;
  std::vector<GraphSource> all;
  for (const char* shape : {"deep", "wide", "transformer"}) {
    for (std::int64_t nodes = 10'000; nodes <= (greatest ? kGreatestSize : kGreatestSize / 10); nodes *= 10) all.push_back({shape, nodes, ""});
  }
  if (const char* file = std::getenv("PARDNN_BENCH_GRAPH"); file != nullptr && *file != '\0') {
    all.push_back({std::filesystem::path(file).stem().string(), read_graph_data(file).num_nodes(), file});
  }
  return all;
}

void run(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) std::exit(3);
  for (const GraphSource& source : sources()) {
    for (const Kernel& kernel : kKernels) {
      for (int threads = 1; threads <= kernel.most_threads; ++threads) add_benchmark(source, kernel, threads);
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "pardnn_kernels: %s\n", error.what());
    return 3;
  }
}
