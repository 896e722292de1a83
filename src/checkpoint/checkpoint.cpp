#include "checkpoint/checkpoint.hpp"

#include <algorithm>
#include <filesystem>
#include <span>

#include <fmt/format.h>
#include <xxhash.h>

#include "memory/evaluate.hpp"
#include "pardnn/error.hpp"

namespace pardnn {

namespace {

std::string digest(const void* data, std::size_t bytes) {
  const XXH128_hash_t hash = XXH3_128bits(data, bytes);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

template <typename T>
std::string digest(const std::vector<T>& values) {
  return digest(values.data(), values.size() * sizeof(T));
}

const char* word(Preset preset) { return preset == Preset::fast ? "fast" : preset == Preset::standard ? "default" : "strong"; }

std::string start_text(const std::optional<Placement>& start) {
  if (!start) return "none";
  return digest(start->device) + digest(start->priority);
}

[[noreturn]] void refuse(const std::string& file, const std::string& what) { throw InputError(fmt::format("{}: {}", printable(file), what)); }

SeedSet seeds_of(const std::string& file, const std::vector<std::int64_t>& done, std::int64_t seeds) {
  SeedSet set;
  if (done.size() % 2 != 0) refuse(file, "/done: has an odd length");
  for (std::size_t i = 0; i < done.size(); i += 2) {
    if (done[i] > done[i + 1] || done[i] <= set.greatest()) refuse(file, "/done: is not increasing");
    set.add(done[i], done[i + 1]);
  }
  if (set.greatest() >= seeds) {
    refuse(file, fmt::format("is the checkpoint of a run of at least {} seeds, this one has {}: give --seeds {} or more, or name another file", set.greatest() + 1, seeds,
                             set.greatest() + 1));
  }
  return set;
}

}  // namespace

RunIdentity run_identity(const Graph& graph, const Machine& machine, const Options& options, const std::string& program) {
  const std::string machine_text = machine_json(machine);
  return {{"graph", graph.fingerprint()},
          {"machine", digest(machine_text.data(), machine_text.size())},
          {"headroom", fmt::format("{} millionths", machine.headroom)},
          {"links", machine.links == Links::free ? "free" : "ports"},
          {"preset", word(options.preset)},
          {"policy", options.policy == Policy::fifo ? "fifo" : "priority"},
          {"seed", std::to_string(options.seed)},
          {"start", start_text(options.start)},
          {"program", program}};
}

SeedState Checkpoint::read(std::int64_t seeds, DeviceId devices) const {
  SeedState state;
  std::error_code error;
  if (!std::filesystem::exists(file_, error)) return state;
  CheckpointFile file = read_checkpoint_file(file_, run_, graph_.num_nodes());
  state.done = seeds_of(file_, file.done, seeds);
  if (!file.best) {
    if (state.done.count() > 0) refuse(file_, "seeds are done, but there is no placement");
    return state;
  }
  if (!state.done.contains(file.best->index)) refuse(file_, "/best_index: that seed is not done");
  for (const DeviceId device : file.best->device) {
    if (device >= devices) refuse(file_, fmt::format("/device: {}, but the machine has devices 0 to {}", device, devices - 1));
  }
  Seeded& best = state.best.emplace();
  best.index = file.best->index;
  best.candidate.score = {file.best->overflow, file.best->makespan, file.best->peak};
  best.candidate.origin = std::move(file.best->origin);
  best.candidate.device = graph_.to_internal(std::span<const DeviceId>(file.best->device));
  if (!file.best->priority.empty()) best.candidate.priority = graph_.to_internal(std::span<const std::int64_t>(file.best->priority));
  if (!broken_rules(graph_, best.candidate.device).empty()) refuse(file_, "/device: breaks the graph's rules");
  return state;
}

void Checkpoint::write(const SeedState& state) {
  const auto begin = Clock::now();
  CheckpointFile file;
  file.run = run_;
  for (const auto& [first, last] : state.done.ranges()) file.done.insert(file.done.end(), {first, last});
  if (state.best) {
    const Candidate& candidate = state.best->candidate;
    CheckpointBest& best = file.best.emplace();
    best.index = state.best->index;
    best.overflow = candidate.score.overflow;
    best.makespan = candidate.score.makespan;
    best.peak = candidate.score.peak;
    best.origin = candidate.origin;
    best.device = graph_.to_file_order(std::span<const DeviceId>(candidate.device));
    if (!candidate.priority.empty()) best.priority = graph_.to_file_order(std::span<const std::int64_t>(candidate.priority));
  }
  write_checkpoint_file(file_, file);
  written_ = Clock::now();
  cost_ = written_ - begin;
}

bool Checkpoint::is_due() const { return Clock::now() - written_ >= std::max<Clock::duration>(std::chrono::seconds(1), 20 * cost_); }

}  // namespace pardnn
