/// Makespans of every baseline and constructor variant on given graphs, beside the best of a table of peers.
///
/// construct_table [--k 4,16] [--envelope FILE.csv] [--links free|ports] [--memory FACTOR] [--only SUBSTRING|=NAME] [--variants NAME,...] GRAPH.h5 ...
/// --variants: these list schedulers alone, by the names that variant_name gives (-ports, -mem and -d go without saying), with -fbN for N rounds of feedback.
/// One CSV row per graph, K and variant: makespan under fifo and priority over the lower bound, and over the peers' best where known.
#include <cstdio>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "baselines/baselines.hpp"
#include "construct/list_scheduler.hpp"
#include "emulation/emulator.hpp"
#include "levels/weighted_levels.hpp"
#include "memory/memory_profile.hpp"
#include "pardnn/io.hpp"

namespace {

using namespace pardnn;

struct Settings {
  std::vector<DeviceId> devices{4, 16};
  std::string envelope, only;
  Links links = Links::free;
  double memory = 0;  ///< usable memory per device, as a factor of (peak of the whole graph on one device) / K; 0: unlimited
  std::vector<std::string> variants;  ///< empty: all
  std::vector<std::string> files;
};

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, at);) parts.push_back(part);
  return parts;
}

Settings parse(int argc, char** argv) {
  Settings settings;
  for (int i = 1; i < argc; ++i) {
    const std::string flag = argv[i];
    if (flag.rfind("--", 0) != 0) {
      settings.files.push_back(flag);
      continue;
    }
    if (i + 1 >= argc) throw std::runtime_error(flag + " needs a value");
    const std::string value = argv[++i];
    if (flag == "--k") {
      settings.devices.clear();
      for (const std::string& k : split(value, ',')) settings.devices.push_back(std::stoi(k));
    } else if (flag == "--envelope") {
      settings.envelope = value;
    } else if (flag == "--links") {
      settings.links = value == "ports" ? Links::ports : Links::free;
    } else if (flag == "--memory") {
      settings.memory = std::stod(value);
    } else if (flag == "--variants") {
      settings.variants = split(value, ',');
    } else if (flag == "--only") {
      settings.only = value;
    } else {
      throw std::runtime_error("unknown flag " + flag);
    }
  }
  return settings;
}

/// "graph,K,policy,links" -> best makespan that any peer reached.
std::map<std::string, double> read_envelope(const std::string& file) {
  std::map<std::string, double> best;
  std::ifstream stream(file);
  std::string line;
  while (std::getline(stream, line)) {
    const std::vector<std::string> cells = split(line, ',');
    if (cells.size() > 4 && cells[0] != "graph") best[cells[0] + "," + cells[1] + "," + cells[2] + "," + cells[3]] = std::stod(cells[4]);
  }
  return best;
}

class Table {
 public:
  Table(const Settings& settings, std::string graph, const CostModel& costs)
      : settings_(settings), graph_(std::move(graph)), costs_(costs), emulator_(costs), tracker_(costs), bound_(lower_bound(costs.graph(), costs.machine())) {}

  void row(const std::string& name, const Constructed& plan, double seconds) {
    const Nanoseconds fifo = emulator_.run(plan.device, Policy::fifo).makespan;
    const double fifo_full = fullest(plan);
    Nanoseconds ordered = emulator_.run(plan.device, Policy::priority).makespan;
    double ordered_full = fullest(plan);
    if (!plan.priority.empty()) {
      const Nanoseconds planned = emulator_.run(plan.device, Policy::priority, plan.priority).makespan;
      if (planned < ordered) ordered_full = fullest(plan);
      ordered = std::min(ordered, planned);
    }
    fmt::print("{},{},{},{:.4f},{:.4f},{:.4f},{:.4f},{:.3f},{:.3f},{:.3f},{:.4f}\n", graph_, costs_.num_devices(), name,
               over(fifo, bound_), over(ordered, bound_), peer("fifo", fifo), peer("priority", ordered), fifo_full, ordered_full,
               seconds, over(plan.makespan, bound_));
    std::fflush(stdout);
  }

  template <typename Make>
  void time_row(const std::string& name, const Make& make) {
    const bool exact = !settings_.only.empty() && settings_.only[0] == '=';
    if (exact ? name != settings_.only.substr(1) : name.find(settings_.only) == std::string::npos) return;
    const std::clock_t begin = std::clock();
    const Constructed plan = make();
    row(name, plan, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
  }

  static std::map<std::string, double> envelope;

 private:
  /// Greatest peak over usable memory in the last run; 0 where memory is unlimited.
  double fullest(const Constructed& plan) {
    if (settings_.memory == 0) return 0;
    const MemoryPeaks& peaks = tracker_.track(plan.device, emulator_.schedule(), emulator_.delivered());
    double full = 0;
    for (DeviceId d = 0; d < costs_.num_devices(); ++d) {
      full = std::max(full, static_cast<double>(peaks.peak[d]) / static_cast<double>(costs_.machine().usable(d)));
    }
    return full;
  }
  static double over(Nanoseconds value, Nanoseconds base) { return base == 0 ? 0 : static_cast<double>(value) / static_cast<double>(base); }
  double peer(const char* policy, Nanoseconds makespan) const {
    const auto it = envelope.find(fmt::format("{},{},{},{}", graph_, costs_.num_devices(), policy,
                                              settings_.links == Links::ports ? "ports" : "free"));
    return it == envelope.end() ? 0 : static_cast<double>(makespan) / it->second;
  }

  const Settings& settings_;
  std::string graph_;
  const CostModel& costs_;
  Emulator emulator_;
  MemoryTracker tracker_;
  Nanoseconds bound_;
};

std::map<std::string, double> Table::envelope;

/// Every variant worth comparing: the table that a portfolio is chosen from.
std::vector<ListOptions> variants(const ListOptions& base) {
  std::vector<ListOptions> all;
  const auto add = [&all](const ListOptions& options) { all.push_back(options); };
  for (const ListMethod method : {ListMethod::heft, ListMethod::etf}) {
    for (const bool lazy : {false, true}) {
      for (const Millionths weight : {kOne / 2, kOne, 2 * kOne}) {
        ListOptions options = base;
        options.method = method;
        options.lazy_sources = lazy;
        options.comm_weight = weight;
        add(options);
      }
    }
  }
  std::vector<Millionths> prices{0};
  if (base.ports) prices.insert(prices.end(), {3 * kOne / 10, kOne, 3 * kOne, 10 * kOne});
  for (const Millionths weight : {kOne / 2, 3 * kOne / 4, kOne, 3 * kOne / 2}) {
    for (const Dispatch dispatch : {Dispatch::fifo, Dispatch::bottom_level}) {
      for (const Millionths reserve : {Millionths{0}, kOne, 2 * kOne}) {
        for (const Millionths beside : {Millionths{0}, kOne / 2}) {
          for (const QueueEstimate estimate : {QueueEstimate::work, QueueEstimate::plan}) {
            for (const Millionths price : prices) {
              ListOptions options = base;
              options.lazy_sources = true;
              options.comm_weight = weight;
              options.dispatch = dispatch;
              options.reserve = reserve;
              options.co_inputs = beside;
              options.queue_estimate = estimate;
              options.port_price = price;
              add(options);
            }
          }
        }
      }
    }
  }
  return all;
}

/// The options that variant_name calls `name`; `base` for what the name does not say.
ListOptions variant(const std::string& name, ListOptions base) {
  const std::vector<std::string> parts = split(name, '-');
  const auto number = [](const std::string& part) { return static_cast<Millionths>(std::stod(part.substr(1)) * kOne + 0.5); };
  base.method = parts[0] == "heft" ? ListMethod::heft : parts[0] == "etf" ? ListMethod::etf : ListMethod::eil;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::string& part = parts[i];
    if (part == "lazy") base.lazy_sources = true;
    else if (part == "plan") base.queue_estimate = QueueEstimate::plan;
    else if (part == "near") base.device_ties = DeviceTies::latest_input;
    else if (part == "id") base.decide_first = DecideFirst::lower_file_id;
    else if (part == "dbl") base.dispatch = Dispatch::bottom_level;
    else if (part == "fav") base.favourite_children = true;
    else if (part[0] == 'c') base.comm_weight = number(part);
    else if (part[0] == 'a') base.lookahead = number(part);
    else if (part[0] == 'i') base.co_inputs = number(part);
    else if (part[0] == 'r') base.reserve = number(part);
    else if (part[0] == 'p') base.port_price = number(part);
    else if (part[0] == 's') base.stay = number(part);
    else if (part[0] == 't') base.heir_through = number(part);
    else throw std::runtime_error("no variant is called " + name);
  }
  return base;
}

void run_graph(const Settings& settings, const std::string& file) {
  const Graph graph(read_graph_data(file));
  const std::string stem = std::filesystem::path(file).stem().string();
  for (const DeviceId k : settings.devices) {
    const bool planted = stem.rfind("planted", 0) == 0, stg = stem.rfind("stg", 0) == 0;
    Machine machine = homogeneous_machine(k, kUnlimited, planted ? 10'000'000'000 : 150'000'000'000, stg ? 0 : 5'000);
    machine.links = settings.links;
    if (settings.memory > 0) {
      const Machine one = homogeneous_machine(1);
      const CostModel costs(graph, one);
      Emulator emulator(costs);
      const std::vector<DeviceId> device(graph.num_nodes(), 0);
      const Bytes peak = MemoryTracker(costs).track(device, emulator.run(device, Policy::fifo), {}).peak[0];
      machine.headroom = 0;
      for (Device& d : machine.devices) d.capacity = static_cast<Bytes>(settings.memory * static_cast<double>(peak) / k);
    }
    const CostModel costs(graph, machine);
    Table table(settings, stem, costs);
    ListOptions base;
    base.ports = machine.links == Links::ports;
    if (settings.memory > 0) {
      for (DeviceId d = 0; d < k; ++d) base.budget.push_back(machine.usable(d));
    }
    for (const std::string& name : settings.variants) {
      const std::size_t feedback = name.find("-fb");
      const ListOptions options = variant(name.substr(0, feedback), base);
      const int rounds = feedback == std::string::npos ? 0 : std::stoi(name.substr(feedback + 3));
      table.time_row("+" + name, [&] { return construct_with_feedback(costs, options, rounds).back(); });
    }
    if (!settings.variants.empty()) continue;
    for (const Baseline& baseline : all_baselines()) {
      table.time_row(std::string(baseline.name), [&] { return baseline.run(costs); });
    }
    for (const ListOptions& options : variants(base)) {
      table.time_row(fmt::format("+{}", variant_name(options)), [&] { return construct_list(costs, options); });
      for (int rounds = 1; rounds <= 2 && settings.only.find("fb") != std::string::npos; ++rounds) {
        table.time_row(fmt::format("+{}-fb{}", variant_name(options), rounds),
                       [&] { return construct_with_feedback(costs, options, rounds).back(); });
      }
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Settings settings = parse(argc, argv);
    Table::envelope = read_envelope(settings.envelope);
    fmt::print("graph,K,method,fifo_over_bound,priority_over_bound,fifo_over_peer,priority_over_peer,fifo_peak_over_usable,priority_peak_over_usable,cpu_seconds,plan_over_bound\n");
    for (const std::string& file : settings.files) run_graph(settings, file);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "construct_table: {}\n", error.what());
    return 1;
  }
}
