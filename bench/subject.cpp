#include "subject.hpp"

#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "construct/eil.hpp"
#include "emulation/emulator.hpp"
#include "generators/generators.hpp"
#include "memory/memory_profile.hpp"
#include "pardnn/io.hpp"
#include "slicing/slicer.hpp"

namespace pardnn::bench {
namespace {

constexpr DeviceId kDevices = 16;

Machine machine_with(Links links) {
  Machine machine = homogeneous_machine(kDevices);
  machine.links = links;
  return machine;
}

/// "deep": one LSTM layer over very many time steps; "wide": 16 layers of independent nodes; else the generator's own proportions.
GenerateOptions options_of(const GraphSource& source) {
  GenerateOptions options;
  options.nodes = source.nodes;
  options.kind = source.shape == "deep" ? "lstm" : source.shape == "wide" ? "random" : source.shape;
  if (source.shape == "deep") options.layers = 1;
  if (source.shape == "wide") options.layers = 16;
  return options;
}

Bytes greatest_peak(const CostModel& costs, const std::vector<DeviceId>& device) {
  Emulator emulator(costs);
  const Schedule& run = emulator.run(device, Policy::fifo);
  return std::ranges::max(MemoryTracker(costs).track(device, run, emulator.delivered()).peak);
}

std::string temporary_folder() {
  std::string name = (std::filesystem::temp_directory_path() / "pardnn-bench-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::system_error(errno, std::generic_category(), name);
  return name;
}

}  // namespace

GraphData GraphSource::load() const { return file.empty() ? generate_in_memory(options_of(*this)) : read_graph_data(file); }

ListOptions eil_options() {
  ListOptions options;
  options.lazy_sources = true;
  return options;
}

Subject::Subject(GraphSource source)
    : source_(std::move(source)), graph_(source_.load()), free_machine_(machine_with(Links::free)), port_machine_(machine_with(Links::ports)),
      free_costs_(graph_, free_machine_), port_costs_(graph_, port_machine_) {}

Subject::~Subject() {
  std::error_code ignored;  // a folder that cannot be removed is no reason to end the measurements
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

const CostModel& Subject::tight_costs() {
  if (!tight_costs_) {
    const Bytes capacity = greatest_peak(free_costs_, placement().device) / 10 * 9;
    tight_machine_ = homogeneous_machine(kDevices, capacity);
    tight_machine_.headroom = 0;
    tight_costs_.emplace(graph_, tight_machine_);
  }
  return *tight_costs_;
}

const WeightedLevels& Subject::levels() {
  if (!levels_) levels_ = weighted_levels(free_costs_);
  return *levels_;
}

const LevelIndex& Subject::index() {
  if (!index_) index_.emplace(graph_, levels());
  return *index_;
}

const Clustering& Subject::clustering() {
  if (!clustering_) clustering_ = slice_graph(free_costs_, {.primaries = kDevices});
  return *clustering_;
}

const Constructed& Subject::placement() {
  if (!placement_) placement_ = eil(free_costs_, eil_options());
  return *placement_;
}

const std::string& Subject::hdf5_file() {
  if (hdf5_file_.empty()) {
    folder_ = temporary_folder();
    hdf5_file_ = folder_ + "/graph.h5";
    write_graph_data(hdf5_file_, source_.load());
  }
  return hdf5_file_;
}

Subject& subject(const GraphSource& source) {
  static std::unique_ptr<Subject> current;
  const bool is_current = current && current->source().shape == source.shape && current->source().nodes == source.nodes &&
                          current->source().file == source.file;
  if (!is_current) {
    current.reset();
    current = std::make_unique<Subject>(source);
  }
  return *current;
}

}  // namespace pardnn::bench
