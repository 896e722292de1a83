/// A graph that is never held: any node can be asked for, in any order.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "generators/generators.hpp"
#include "pardnn/graph.hpp"
#include "pardnn/units.hpp"

namespace pardnn {

struct NodeRecord {
  struct Successor {
    std::int64_t node;
    Bytes bytes;
  };
  Nanoseconds comp = 0;
  Bytes mem = 0, temp = 0;
  NodeKind kind = NodeKind::normal;
  std::int64_t colocation = -1, alias = -1, gradient_of = -1, op = 0;
  std::string name;
  /// By increasing node, each once.
  std::vector<Successor> successors;
};

struct GraphRecipe {
  std::string name;
  std::int64_t samples_per_step = 1;
  std::int64_t num_nodes = 0;
  std::vector<std::string> op_types;
  /// Overwrites the record with what is true of node n, O(1 + its degree log degree). Its name only if asked for.
  std::function<void(std::int64_t n, bool with_name, NodeRecord& record)> node;
};

// One file per family. Each throws InputError for options that it cannot meet.
GraphRecipe mlp_recipe(const GenerateOptions& options);
GraphRecipe transformer_recipe(const GenerateOptions& options);
GraphRecipe lstm_recipe(const GenerateOptions& options);
GraphRecipe wide_resnet_recipe(const GenerateOptions& options);
GraphRecipe inception_recipe(const GenerateOptions& options);
GraphRecipe random_dag_recipe(const GenerateOptions& options);

/// Puts successors in order and leaves each target once (the greater bytes count).
void sort_successors(NodeRecord& record);

/// `time` changed by at most 5 %, as measured times scatter.
Nanoseconds jittered(Nanoseconds time, std::uint64_t seed, std::int64_t n);

/// Time of one kernel on a V100-like device, fp32: launch, and the slower of arithmetic and memory traffic.
Nanoseconds kernel_time(std::int64_t flops, Bytes moved);

}  // namespace pardnn
