/// A placement that a command is given, with the graph, the machine and the policy that it is judged by.
#pragma once

#include <optional>
#include <string>

#include "cli/loaded_graph.hpp"
#include "cli/option_flags.hpp"
#include "cli/session.hpp"
#include "pardnn/machine.hpp"
#include "pardnn/placement.hpp"

namespace pardnn::cli {

struct GivenFlags {
  std::string graph, placement;
  std::optional<std::string> policy;
  MachineFlags machine;

  /// The files that they name.
  std::vector<std::string> inputs() const;
};

void add_given_flags(CLI::App& app, GivenFlags& flags);

struct GivenPlacement {
  LoadedGraph loaded;
  Machine machine;
  Placement placement;
  Policy policy = Policy::fifo;
  std::uint64_t seed = 0;  ///< 0: the file does not say
};

/// Reads graph and placement. Machine, policy and links are those of the flags; where they say nothing, those that the placement was made
/// for. Warns where the numbers of devices differ. Throws InputError.
GivenPlacement read_given_placement(const GivenFlags& flags, bool needs_names, Session& session);

}  // namespace pardnn::cli
