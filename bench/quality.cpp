// Runs pardnn's presets, the published method and all baselines on graphs x devices x policies x links x memory and writes one CSV row
// per run, as they come. Every placement is judged by evaluate(). scripts/quality_table.py makes tables of it; bench/README.md says what
// the columns are.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "baselines/baselines.hpp"
#include "costs/cost_model.hpp"
#include "memory/capacity_bound.hpp"
#include "pardnn/emulate.hpp"
#include "pardnn/error.hpp"
#include "pardnn/io.hpp"
#include "pardnn/partition.hpp"
#include "refinement/step_one.hpp"
#include "repair/overflow_repair.hpp"

namespace {

using namespace pardnn;

/// What usable memory per device is measured in.
enum class MemoryUnit {
  unlimited,
  peak,   ///< (peak of the whole graph on one device) / K
  bound,  ///< least capacity of K equal devices below which nothing is proven to fit
};

struct MemoryLevel {
  MemoryUnit unit = MemoryUnit::unlimited;
  double factor = 0;
};

struct Setting {
  DeviceId devices;
  Policy policy;
  Links links;
  std::string memory;  ///< as in the CSV
  Bytes usable;        ///< per device
  bool proven;         ///< no placement fits
};

struct Arguments {
  std::vector<std::string> graphs, policies{"fifo", "priority"}, links{"free", "ports"}, presets{"fast", "default", "strong"};
  std::vector<std::string> baselines;
  std::vector<int> devices{2, 4, 8, 16};
  std::vector<double> memory{0}, tight;
  std::string csv;
  int seeds = 1;
  std::int64_t largest = INT64_MAX, largest_slow = 25'000;
  bool published = false, unrefined = false, no_presets = false, append = false;
};

/// Seconds since construction: of this process on all CPUs, and on the clock.
class Stopwatch {
 public:
  double cpu() const { return cpu_now() - cpu_; }
  double wall() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - wall_).count(); }

 private:
  static double cpu_now() {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
  double cpu_ = cpu_now();
  std::chrono::steady_clock::time_point wall_ = std::chrono::steady_clock::now();
};

/// What one run cost.
struct Spent {
  double cpu = 0, wall = 0;
  explicit Spent(const Stopwatch& watch) : cpu(watch.cpu()), wall(watch.wall()) {}
};

const char* text(Policy policy) { return policy == Policy::fifo ? "fifo" : "priority"; }
const char* text(Links links) { return links == Links::free ? "free" : "ports"; }

std::string text(const MemoryLevel& level) {
  if (level.unit == MemoryUnit::unlimited) return "free";
  return fmt::format("{}x{}", level.factor, level.unit == MemoryUnit::peak ? "P1/K" : "bound");
}

Preset preset_of(const std::string& name) {
  if (name == "fast") return Preset::fast;
  if (name == "default") return Preset::standard;
  return Preset::strong;
}

/// The CSV. Rows of an earlier run that it is to go on from are kept, and known.
class Table {
 public:
  static constexpr const char* kHeader =
      "graph,nodes,K,policy,links,memory,method,makespan_ns,lower_bound_ns,best_bound_ns,feasible,verdict,peak_bytes,usable_bytes,cpu_s,wall_s,origin";

  Table(const std::string& file, bool append) : out_(stdout) {
    const bool more = append && std::filesystem::exists(file) && std::filesystem::file_size(file) > 0;
    if (more) read_rows(file);
    if (!file.empty()) out_ = std::fopen(file.c_str(), more ? "a" : "w");
    if (out_ == nullptr) throw SystemError(file + ": cannot be written");
    if (!more) write(std::string(kHeader) + "\n");
  }
  ~Table() {
    if (out_ != stdout) std::fclose(out_);
  }
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  bool has(const std::string& graph, const Setting& setting, const std::string& method) const {
    return known_.count(key(graph, setting, method)) > 0;
  }

  void row(const std::string& graph, std::int64_t nodes, const Setting& s, const std::string& method, const Evaluation& e,
           const Spent& spent, std::string origin) {
    std::replace(origin.begin(), origin.end(), ',', ';');
    const char* verdict = e.feasible ? "fits" : s.proven ? "proven" : "open";
    write(fmt::format("{},{},{},{},{},{},{},{},{},{},{:.3f},{:.3f},{}\n", graph, nodes, key_tail(s, method), e.makespan,
                      e.lower_bound, e.best_bound, e.feasible ? 1 : 0, verdict, e.greatest_peak(), s.usable == kUnlimited ? 0 : s.usable,
                      spent.cpu, spent.wall, origin));
  }

 private:
  static std::string key_tail(const Setting& s, const std::string& method) {
    return fmt::format("{},{},{},{},{}", s.devices, text(s.policy), text(s.links), s.memory, method);
  }
  static std::string key(const std::string& graph, const Setting& s, const std::string& method) {
    return graph + "," + key_tail(s, method);
  }

  /// Whole rows of `file`; what a killed run left of its last row is cut off.
  void read_rows(const std::string& file) {
    std::ifstream in(file);
    std::string line;
    std::uintmax_t whole = 0;
    while (std::getline(in, line) && !in.eof()) {
      if (whole == 0 && line != kHeader) throw InputError(file + ": its columns are not those of this program: " + line);
      whole += line.size() + 1;
      remember(line);
    }
    if (whole == 0) throw InputError(file + ": has no whole first line");
    in.close();
    if (whole < std::filesystem::file_size(file)) std::filesystem::resize_file(file, whole);
  }

  /// Columns graph, K .. method of a row.
  void remember(const std::string& line) {
    constexpr std::size_t kNodes = 1, kEnd = 7;
    std::string key;
    std::size_t begin = 0;
    for (std::size_t column = 0; column < kEnd; ++column) {
      const std::size_t end = line.find(',', begin);
      if (end == std::string::npos) return;
      if (column != kNodes) key += (key.empty() ? "" : ",") + line.substr(begin, end - begin);
      begin = end + 1;
    }
    known_.insert(key);
  }

  void write(const std::string& line) {
    if (std::fputs(line.c_str(), out_) < 0 || std::fflush(out_) != 0) throw SystemError("the CSV cannot be written");
  }

  std::FILE* out_;
  std::set<std::string> known_;
};

/// One graph, and all that is run on it.
class GraphRuns {
 public:
  GraphRuns(const std::string& file, const Arguments& arguments, Table& table)
      : name_(std::filesystem::path(file).stem().string()), graph_(read_graph_data(file)), arguments_(arguments), table_(table) {}

  void run(const std::vector<MemoryLevel>& levels) {
    if (graph_.num_nodes() > arguments_.largest) {
      fmt::print(stderr, "quality: {} skipped: {} nodes\n", name_, graph_.num_nodes());
      return;
    }
    for (const MemoryLevel& level : levels) {
      for (const int devices : arguments_.devices) run_memory(level, devices);
    }
  }

 private:
  void run_memory(const MemoryLevel& level, DeviceId devices) {
    const Bytes usable = usable_per_device(level, devices);
    if (usable <= 0) {
      fmt::print(stderr, "quality: {} skipped at {} on {} devices: it holds no memory\n", name_, text(level), devices);
      return;
    }
    Setting setting{devices, Policy::fifo, Links::free, text(level), usable, false};
    setting.proven = usable != kUnlimited && capacity_verdict(graph_, machine_for(setting)).proof.has_value();
    for (const std::string& policy : arguments_.policies) {
      for (const std::string& links : arguments_.links) {
        setting.policy = policy == "fifo" ? Policy::fifo : Policy::priority;
        setting.links = links == "free" ? Links::free : Links::ports;
        run_setting(setting, machine_for(setting));
      }
    }
  }

  void run_setting(const Setting& setting, const Machine& machine) {
    for (const Baseline& baseline : all_baselines()) {
      if (wanted(baseline.name)) run_baseline(baseline, setting, machine);
    }
    if (arguments_.unrefined) run_step_one("published-unrefined", false, setting, machine);
    if (arguments_.published) run_step_one("published", true, setting, machine);
    for (const std::string& preset : arguments_.presets) run_preset(preset, setting, machine);
  }

  bool wanted(std::string_view method) const {
    const std::vector<std::string>& names = arguments_.baselines;
    return !names.empty() && (names.front() == "all" || std::find(names.begin(), names.end(), method) != names.end());
  }

  void run_baseline(const Baseline& baseline, const Setting& setting, const Machine& machine) {
    const std::string method(baseline.name);
    if (table_.has(name_, setting, method)) return;
    if (method == "lc" && graph_.num_nodes() > arguments_.largest_slow) {
      fmt::print(stderr, "quality: lc skipped on {}: {} nodes, --largest-slow is {}\n", name_, graph_.num_nodes(), arguments_.largest_slow);
      return;
    }
    const Stopwatch watch;
    const CostModel costs(graph_, machine);
    const Constructed constructed = baseline.run(costs);
    const Spent spent(watch);
    Placement placement{constructed.device, {}};
    if (setting.policy == Policy::priority) placement.priority = constructed.priority;
    judge(setting, machine, method, placement, spent, method);
  }

  /// The published method: its step one, and repair of overflow as its step two.
  void run_step_one(const std::string& method, bool refined, const Setting& setting, const Machine& machine) {
    if (table_.has(name_, setting, method)) return;
    const Stopwatch watch;
    const CostModel costs(graph_, machine);
    Judge judge_of_repair(costs, setting.policy);
    StepOneOptions options;
    options.swap = options.switch_ = refined;
    Placement placement{paper_step_one(costs, options), {}};
    const bool repair = judge_of_repair.memory_matters();
    if (repair) placement.device = repair_overflow(judge_of_repair, std::move(placement.device), {}, RepairOptions{}).device;
    const Spent spent(watch);
    judge(setting, machine, method, placement, spent, repair ? "step one; repair" : "step one");
  }

  void run_preset(const std::string& preset, const Setting& setting, const Machine& machine) {
    const int seeds = preset == "strong" ? arguments_.seeds : 1;
    const std::string method = seeds == 1 ? preset : fmt::format("{}-{}-seeds", preset, seeds);
    if (table_.has(name_, setting, method)) return;
    Options options;
    options.preset = preset_of(preset);
    options.policy = setting.policy;
    options.seeds = seeds;
    const Stopwatch watch;
    const Result result = partition(graph_, machine, options);
    table_.row(name_, graph_.num_nodes(), setting, method, result.evaluation, Spent(watch), result.method);
  }

  void judge(const Setting& setting, const Machine& machine, const std::string& method, const Placement& placement, const Spent& spent,
             const std::string& origin) {
    table_.row(name_, graph_.num_nodes(), setting, method, evaluate(graph_, machine, placement, setting.policy), spent, origin);
  }

  /// The settings of the peers' table: 150 GB/s and 5 us; graphs planted around a schedule 10 GB/s; task graphs without latency. No headroom.
  Machine machine_for(const Setting& setting) const {
    const bool planted = name_.rfind("planted", 0) == 0, stg = name_.rfind("stg", 0) == 0;
    Machine machine = homogeneous_machine(setting.devices, setting.usable, planted ? 10'000'000'000 : 150'000'000'000, stg ? 0 : 5'000);
    machine.headroom = 0;
    machine.links = setting.links;
    return machine;
  }

  Bytes usable_per_device(const MemoryLevel& level, DeviceId devices) {
    if (level.unit == MemoryUnit::unlimited) return kUnlimited;
    if (level.unit == MemoryUnit::peak) return static_cast<Bytes>(level.factor * static_cast<double>(single_device_peak()) / devices);
    Machine least = homogeneous_machine(devices, 1);
    least.headroom = 0;
    const Bytes bound = capacity_verdict(graph_, least).bound.per_device_equal;
    return static_cast<Bytes>(level.factor * static_cast<double>(bound));
  }

  Bytes single_device_peak() {
    if (!single_device_peak_) {
      const Placement all_on_one{std::vector<DeviceId>(static_cast<std::size_t>(graph_.num_nodes()), 0), {}};
      single_device_peak_ = evaluate(graph_, homogeneous_machine(1), all_on_one, Policy::fifo).greatest_peak();
    }
    return *single_device_peak_;
  }

  std::string name_;
  Graph graph_;
  const Arguments& arguments_;
  Table& table_;
  std::optional<Bytes> single_device_peak_;
};

/// Names that no build knows are an error; those of libraries that this one was built without are said once.
void check_baselines(const std::vector<std::string>& names) {
  constexpr std::array<std::string_view, 2> kOptional{"metis", "scotch"};
  const auto built = [](std::string_view name) {
    return std::any_of(all_baselines().begin(), all_baselines().end(), [name](const Baseline& b) { return b.name == name; });
  };
  const bool all = !names.empty() && names.front() == "all";
  for (const std::string_view name : kOptional) {
    const bool asked = all || std::find(names.begin(), names.end(), name) != names.end();
    if (asked && !built(name)) fmt::print(stderr, "quality: {} skipped: built without its library\n", name);
  }
  for (const std::string& name : names) {
    const bool optional = std::find(kOptional.begin(), kOptional.end(), name) != kOptional.end();
    if (name != "all" && !optional && !built(name)) throw InputError("no baseline is called " + name);
  }
}

std::vector<MemoryLevel> memory_levels(const Arguments& arguments, bool memory_given) {
  std::vector<MemoryLevel> levels;
  for (const double factor : arguments.memory) {
    if (factor > 0) levels.push_back({MemoryUnit::peak, factor});
    else if (memory_given || arguments.tight.empty()) levels.push_back({});
  }
  for (const double factor : arguments.tight) levels.push_back({MemoryUnit::bound, factor});
  return levels;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("quality of pardnn and of the baselines, as CSV");
  app.add_option("graphs", arguments.graphs, "graph files")->required();
  app.add_option("--devices", arguments.devices)->delimiter(',')->check(CLI::PositiveNumber);
  app.add_option("--policies", arguments.policies)->delimiter(',')->check(CLI::IsMember({"fifo", "priority"}));
  app.add_option("--links", arguments.links)->delimiter(',')->check(CLI::IsMember({"free", "ports"}));
  CLI::Option* presets = app.add_option("--presets", arguments.presets)->delimiter(',')->check(CLI::IsMember({"fast", "default", "strong"}));
  app.add_flag("--no-presets", arguments.no_presets, "baselines and the published method alone")->excludes(presets);
  app.add_option("--baselines", arguments.baselines, "names, or 'all'")->delimiter(',');
  app.add_flag("--published", arguments.published, "the published method too: its step one, and repair of overflow");
  app.add_flag("--unrefined", arguments.unrefined, "the published method without its refinement too");
  CLI::Option* memory =
      app.add_option("--memory", arguments.memory, "usable per device as multiples of (single-device peak) / K; 0: unlimited")->delimiter(',')->check(CLI::NonNegativeNumber);
  app.add_option("--tight", arguments.tight, "usable per device as multiples of the least that is not proven impossible; without --memory these alone")
      ->delimiter(',')
      ->check(CLI::PositiveNumber);
  app.add_option("--seeds", arguments.seeds, "seeds of preset strong")->check(CLI::PositiveNumber);
  app.add_option("--largest", arguments.largest, "skip graphs with more nodes");
  app.add_option("--largest-slow", arguments.largest_slow, "skip linear clustering (lc) on graphs with more nodes");
  CLI::Option* csv = app.add_option("--csv", arguments.csv, "output file (standard output without it)");
  app.add_flag("--append", arguments.append, "go on with that file: rows that it has are not run again")->needs(csv);
  CLI11_PARSE(app, argc, argv);
  if (arguments.no_presets) arguments.presets.clear();
  try {
    check_baselines(arguments.baselines);
    const std::vector<MemoryLevel> levels = memory_levels(arguments, memory->count() > 0);
    Table table(arguments.csv, arguments.append);
    for (const std::string& file : arguments.graphs) GraphRuns(file, arguments, table).run(levels);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "quality: %s\n", error.what());
    return 3;
  }
  return 0;
}
