/// Keeps a run of many seeds in a file, so that the same command goes on where an earlier one was stopped, with the same result.
#pragma once

#include <chrono>
#include <string>

#include "io/checkpoint_file.hpp"
#include "pardnn/graph.hpp"
#include "pardnn/machine.hpp"
#include "pardnn/options.hpp"
#include "seeds/seed_state.hpp"

namespace pardnn {

/// What the result of a run depends on, number of seeds aside: graph, machine, options, `program` (its version). Threads, ranks and time
/// limits are no part of it.
RunIdentity run_identity(const Graph& graph, const Machine& machine, const Options& options, const std::string& program);

class Checkpoint {
 public:
  /// `graph` must outlive this.
  Checkpoint(std::string file, RunIdentity run, const Graph& graph) : file_(std::move(file)), run_(std::move(run)), graph_(graph) {}

  /// What earlier runs have done; nothing if there is no such file yet. Throws InputError: not a checkpoint of this run, seeds done
  /// that are not among the first `seeds`, devices that the machine lacks.
  SeedState read(std::int64_t seeds, DeviceId devices) const;

  /// Writes atomically. Throws SystemError.
  void write(const SeedState& state);

  /// True if it is time to write again: at most one 20th of the time goes into writing, and there is one write a second at most.
  bool is_due() const;

 private:
  using Clock = std::chrono::steady_clock;

  std::string file_;
  RunIdentity run_;
  const Graph& graph_;
  Clock::time_point written_ = Clock::now();
  Clock::duration cost_{};
};

}  // namespace pardnn
