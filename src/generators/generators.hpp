/// Synthetic training graphs: forward pass, loss, mirrored backward pass, parameters with their optimizer state and
/// updates. Realistic in shape, time and bytes; any size up to 10^8 nodes; a function of their options alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pardnn/graph.hpp"
#include "pardnn/progress.hpp"

namespace pardnn {

/// What to generate. Fields of 0 are chosen so that the graph comes nearest to `nodes`.
struct GenerateOptions {
  std::string kind = "mlp";        ///< one of generator_kinds()
  std::int64_t nodes = 10'000;     ///< wanted size; at most kGreatestGeneratedGraph
  std::uint64_t seed = 1;          ///< decides the jitter of the times; for `random` also edges and sizes
  std::int64_t layers = 0;         ///< hidden layers, blocks, modules; depth of `random`
  std::int64_t width = 0;          ///< hidden size, channels; nodes in a layer of `random`
  std::int64_t steps = 0;          ///< time steps of `lstm`
  std::int64_t micro_batches = 0;  ///< copies of the forward and backward pass whose gradients are summed
  std::int64_t batch = 0;          ///< samples of one micro-batch
  bool names = false;              ///< write a name for every node (about 30 bytes each)
};

inline constexpr std::int64_t kGreatestGeneratedGraph = 1'000'000'000;

/// mlp, transformer, lstm, wrn, inception, random.
const std::vector<std::string_view>& generator_kinds();

/// Number of nodes that `options` give. Throws InputError as generate does.
std::int64_t generated_nodes(const GenerateOptions& options);

/// Writes the graph to the HDF5 file `file`, node by node: O(V + E log degree) time, a few MiB and the longest row of memory.
/// Throws InputError (an unknown kind, a value out of range, fewer nodes than the kind's smallest graph), SystemError.
void generate(const GenerateOptions& options, const std::string& file, Progress* progress = nullptr);

/// The same graph in memory.
GraphData generate_in_memory(const GenerateOptions& options);

}  // namespace pardnn
