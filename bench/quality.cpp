// Runs pardnn's presets and all baselines on graphs x devices x policies x links x memory and writes one CSV row per run.
// scripts/quality_table.py makes the table of it. Every placement is judged by evaluate().
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "baselines/baselines.hpp"
#include "costs/cost_model.hpp"
#include "pardnn/emulate.hpp"
#include "pardnn/error.hpp"
#include "pardnn/io.hpp"
#include "pardnn/partition.hpp"
#include "refinement/step_one.hpp"
#include "repair/overflow_repair.hpp"

namespace {

using namespace pardnn;

struct Setting {
  DeviceId devices;
  Policy policy;
  Links links;
  double memory;  // usable per device as a multiple of P1 / K; 0: unlimited
};

struct Arguments {
  std::vector<std::string> graphs, policies{"fifo", "priority"}, links{"free", "ports"}, presets{"fast", "default", "strong"};
  std::vector<std::string> baselines;
  std::vector<int> devices{2, 4, 8, 16};
  std::vector<double> memory{0};
  std::string csv;
  int seeds = 1;
  std::int64_t largest = INT64_MAX;
  bool published = false;
};

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

/// The settings of the peers' table: 150 GB/s and 5 us; graphs planted around a schedule 10 GB/s; task graphs without latency.
Machine machine_for(const std::string& graph, const Setting& setting, Bytes single_device_peak) {
  const bool planted = graph.rfind("planted", 0) == 0, stg = graph.rfind("stg", 0) == 0;
  Bytes memory = kUnlimited;
  if (setting.memory > 0) memory = static_cast<Bytes>(setting.memory * static_cast<double>(single_device_peak) / setting.devices);
  Machine machine = homogeneous_machine(setting.devices, memory, planted ? 10'000'000'000 : 150'000'000'000, stg ? 0 : 5'000);
  machine.headroom = 0;
  machine.links = setting.links;
  return machine;
}

Preset preset_of(const std::string& name) {
  if (name == "fast") return Preset::fast;
  if (name == "default") return Preset::standard;
  if (name == "strong") return Preset::strong;
  throw InputError("unknown preset " + name);
}

class Table {
 public:
  explicit Table(const std::string& file) : out_(file.empty() ? stdout : std::fopen(file.c_str(), "w")) {
    if (out_ == nullptr) throw SystemError(file + ": cannot be written");
    fmt::print(out_, "graph,nodes,K,policy,links,memory,method,makespan_ns,lower_bound_ns,feasible,peak_bytes,cpu_s,origin\n");
  }
  ~Table() {
    if (out_ != stdout) std::fclose(out_);
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  void row(const std::string& graph, std::int64_t nodes, const Setting& s, const std::string& method, const Evaluation& e,
           double cpu, std::string origin) {
    for (char& c : origin) {
      if (c == ',') c = ';';
    }
    fmt::print(out_, "{},{},{},{},{},{},{},{},{},{},{},{:.3f},{}\n", graph, nodes, s.devices,
               s.policy == Policy::fifo ? "fifo" : "priority", s.links == Links::free ? "free" : "ports", s.memory, method,
               e.makespan, e.lower_bound, e.feasible ? 1 : 0, e.greatest_peak(), cpu, origin);
    std::fflush(out_);
  }

 private:
  std::FILE* out_;
};

void run_baselines(const std::string& name, const Graph& graph, const Machine& machine, const Setting& setting,
                   const std::vector<std::string>& wanted, Table& table) {
  const CostModel costs(graph, machine);
  for (const Baseline& baseline : all_baselines()) {
    const std::string method(baseline.name);
    if (wanted.front() != "all" && std::find(wanted.begin(), wanted.end(), method) == wanted.end()) continue;
    const double begin = cpu_seconds();
    const Constructed constructed = baseline.run(costs);
    const double cpu = cpu_seconds() - begin;
    Placement placement{constructed.device, {}};
    if (setting.policy == Policy::priority) placement.priority = constructed.priority;
    table.row(name, graph.num_nodes(), setting, method, evaluate(graph, machine, placement, setting.policy), cpu, method);
  }
}

/// The published method: its step one, and repair of overflow as its step two.
void run_published(const std::string& name, const Graph& graph, const Machine& machine, const Setting& setting, Table& table) {
  const CostModel costs(graph, machine);
  const double begin = cpu_seconds();
  Judge judge(costs, setting.policy);
  Placement placement{paper_step_one(costs, StepOneOptions{}), {}};
  if (judge.memory_matters()) placement.device = repair_overflow(judge, std::move(placement.device), {}, RepairOptions{}).device;
  const double cpu = cpu_seconds() - begin;
  table.row(name, graph.num_nodes(), setting, "published", evaluate(graph, machine, placement, setting.policy), cpu, "step one; repair");
}

void run_presets(const std::string& name, const Graph& graph, const Machine& machine, const Setting& setting,
                 const Arguments& arguments, Table& table) {
  for (const std::string& preset : arguments.presets) {
    Options options;
    options.preset = preset_of(preset);
    options.policy = setting.policy;
    options.seeds = preset == "strong" ? arguments.seeds : 1;
    const double begin = cpu_seconds();
    const Result result = partition(graph, machine, options);
    table.row(name, graph.num_nodes(), setting, preset, result.evaluation, cpu_seconds() - begin,
              result.method + (result.cannot_fit ? "; cannot fit" : ""));
  }
}

void run_graph(const std::string& file, const Arguments& arguments, Table& table) {
  const std::string name = std::filesystem::path(file).stem().string();
  const Graph graph(read_graph_data(file));
  if (graph.num_nodes() > arguments.largest) return;
  Bytes single_device_peak = 0;
  for (const double memory : arguments.memory) {
    if (memory > 0 && single_device_peak == 0) {
      const Placement all_on_one{std::vector<DeviceId>(static_cast<std::size_t>(graph.num_nodes()), 0), {}};
      single_device_peak = evaluate(graph, homogeneous_machine(1), all_on_one, Policy::fifo).greatest_peak();
    }
    for (const int devices : arguments.devices) {
      for (const std::string& policy : arguments.policies) {
        for (const std::string& links : arguments.links) {
          const Setting setting{devices, policy == "fifo" ? Policy::fifo : Policy::priority,
                                links == "free" ? Links::free : Links::ports, memory};
          const Machine machine = machine_for(name, setting, single_device_peak);
          if (!arguments.baselines.empty()) run_baselines(name, graph, machine, setting, arguments.baselines, table);
          if (arguments.published) run_published(name, graph, machine, setting, table);
          run_presets(name, graph, machine, setting, arguments, table);
        }
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("quality of pardnn and of the baselines, as CSV");
  app.add_option("graphs", arguments.graphs, "graph files")->required();
  app.add_option("--devices", arguments.devices)->delimiter(',');
  app.add_option("--policies", arguments.policies)->delimiter(',');
  app.add_option("--links", arguments.links)->delimiter(',');
  app.add_option("--presets", arguments.presets)->delimiter(',');
  app.add_option("--baselines", arguments.baselines, "names, or 'all'")->delimiter(',');
  app.add_flag("--published", arguments.published, "the published method too: its step one, and repair of overflow");
  app.add_option("--memory", arguments.memory, "usable per device as a multiple of (single-device peak) / K; 0: unlimited")->delimiter(',');
  app.add_option("--seeds", arguments.seeds, "seeds of preset strong");
  app.add_option("--largest", arguments.largest, "skip graphs with more nodes");
  app.add_option("--csv", arguments.csv, "output file (standard output without it)");
  CLI11_PARSE(app, argc, argv);
  try {
    Table table(arguments.csv);
    for (const std::string& file : arguments.graphs) run_graph(file, arguments, table);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "quality: %s\n", error.what());
    return 3;
  }
  return 0;
}
