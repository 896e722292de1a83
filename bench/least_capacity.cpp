// The smallest equal per-device capacity at which pardnn finds a run that fits, by bisection, for graphs x devices x policies. One CSV row each.
// Settings of the peers' table: 150 GB/s, 5 us, free links; no headroom. Every placement is judged by partition()'s own verification.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <string>
#include <vector>

#include "memory/capacity_bound.hpp"
#include "pardnn/emulate.hpp"
#include "pardnn/error.hpp"
#include "pardnn/io.hpp"
#include "pardnn/partition.hpp"

namespace {

using namespace pardnn;

struct Arguments {
  std::vector<std::string> graphs, policies{"fifo", "priority"};
  std::vector<int> devices{4, 8};
  std::string preset = "default", csv;
  double step = 0.02;
  std::uint64_t seed = 1;
  int threads = 1;
};

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Machine machine_of(DeviceId devices, Bytes capacity) {
  Machine machine = homogeneous_machine(devices, capacity, 150'000'000'000, 5'000);
  machine.headroom = 0;
  return machine;
}

Preset preset_of(const std::string& name) {
  if (name == "fast") return Preset::fast;
  if (name == "default") return Preset::standard;
  if (name == "strong") return Preset::strong;
  throw InputError("unknown preset " + name);
}

/// The smallest capacity found so far, and what ran there.
struct Least {
  Bytes capacity = 0;  // the greatest peak of the run; 0: none found
  Nanoseconds makespan = 0;
  std::string origin;
  int runs = 0;
  double cpu = 0;
};

class Bisection {
 public:
  Bisection(const Graph& graph, DeviceId devices, const Options& options) : graph_(graph), devices_(devices), options_(options) {}

  /// Between `bound`, below which nothing fits, and what fits: up from `first` until something does, then halving until the
  /// distance is at most `step` of the capacity.
  Least find(Bytes bound, Bytes first, double step) {
    double low = static_cast<double>(std::max<Bytes>(bound, 1));
    double at = std::max(static_cast<double>(first), low);
    constexpr double kUp = 1.15;
    constexpr int kMostUp = 30;
    for (int i = 0; i < kMostUp && !fits(static_cast<Bytes>(at)); ++i) {
      low = at;
      at *= kUp;
    }
    if (least_.capacity == 0) return least_;
    while (static_cast<double>(least_.capacity) > low * (1 + step)) {
      const double middle = (low + static_cast<double>(least_.capacity)) / 2;
      if (!fits(static_cast<Bytes>(middle))) low = middle;
    }
    return least_;
  }

 private:
  bool fits(Bytes capacity) {
    const double begin = cpu_seconds();
    const Result result = partition(graph_, machine_of(devices_, capacity), options_);
    least_.cpu += cpu_seconds() - begin;
    ++least_.runs;
    if (!result.evaluation.feasible) return false;
    least_.capacity = std::max<Bytes>(result.evaluation.greatest_peak(), 1);
    least_.makespan = result.evaluation.makespan;
    least_.origin = result.method;
    std::replace(least_.origin.begin(), least_.origin.end(), ',', ';');
    return true;
  }

  const Graph& graph_;
  DeviceId devices_;
  const Options& options_;
  Least least_;
};

void run_graph(const std::string& file, const Arguments& arguments, std::FILE* out) {
  const std::string name = std::filesystem::path(file).stem().string();
  const Graph graph(read_graph_data(file));
  const Placement all_on_one{std::vector<DeviceId>(static_cast<std::size_t>(graph.num_nodes()), 0), {}};
  const Bytes alone = evaluate(graph, homogeneous_machine(1), all_on_one, Policy::fifo).greatest_peak();
  for (const int devices : arguments.devices) {
    const Bytes bound = capacity_verdict(graph, machine_of(devices, 1)).bound.per_device_equal;
    Bytes first = alone / devices + alone / devices / 50;
    for (const std::string& policy : arguments.policies) {
      Options options;
      options.preset = preset_of(arguments.preset);
      options.policy = policy == "fifo" ? Policy::fifo : Policy::priority;
      options.seed = arguments.seed;
      options.threads = arguments.threads;
      const Least least = Bisection(graph, devices, options).find(bound, first, arguments.step);
      if (least.capacity > 0) first = std::min(first, least.capacity);  // the next policy begins there
      fmt::print(out, "{},{},{},{},{},{},{},{},{},{},{},{:.2f},{}\n", name, graph.num_nodes(), devices, policy, arguments.preset,
                 least.capacity, least.makespan, lower_bound(graph, machine_of(devices, kUnlimited)), alone, bound, least.runs,
                 least.cpu, least.origin);
      std::fflush(out);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("smallest per-device capacity at which a feasible run is found, as CSV");
  app.add_option("graphs", arguments.graphs, "graph files")->required();
  app.add_option("--devices", arguments.devices)->delimiter(',');
  app.add_option("--policies", arguments.policies)->delimiter(',');
  app.add_option("--preset", arguments.preset);
  app.add_option("--seed", arguments.seed);
  app.add_option("--threads", arguments.threads);
  app.add_option("--step", arguments.step, "stop when the capacity is known to this part of it");
  app.add_option("--csv", arguments.csv, "output file (standard output without it)");
  CLI11_PARSE(app, argc, argv);
  try {
    std::FILE* out = arguments.csv.empty() ? stdout : std::fopen(arguments.csv.c_str(), "w");
    if (out == nullptr) throw SystemError(arguments.csv + ": cannot be written");
    fmt::print(out, "graph,nodes,K,policy,preset,capacity_bytes,makespan_ns,lower_bound_ns,single_device_peak_bytes,capacity_bound_bytes,runs,cpu_s,origin\n");
    for (const std::string& file : arguments.graphs) run_graph(file, arguments, out);
    if (out != stdout) std::fclose(out);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "least_capacity: %s\n", error.what());
    return 3;
  }
  return 0;
}
