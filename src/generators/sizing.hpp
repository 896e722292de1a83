/// From a wanted number of nodes to layers, steps and micro-batches.
#pragma once

#include <cstdint>
#include <functional>

#include "generators/generators.hpp"

namespace pardnn {

/// `value`, or `standard` where it is 0. Throws InputError that names `flag` unless 1 <= value <= greatest.
std::int64_t chosen(std::int64_t value, std::int64_t standard, std::int64_t greatest, const char* flag);

/// Rows of cells, and how often each is repeated (time steps or micro-batches).
struct Extent {
  std::int64_t layers = 1, copies = 1;
};

/// Nodes of the graph with this extent; grows with both.
using NodeCount = std::function<std::int64_t(Extent)>;

/// The extent whose graph comes nearest to `nodes`. Where `wanted` has a number it is kept; where both are free,
/// `layers_per_copy` is their rough ratio. Throws InputError if even the smallest such graph exceeds `nodes` by more
/// than a tenth, unless `wanted` has both.
Extent nearest_extent(std::int64_t nodes, Extent wanted, std::int64_t layers_per_copy, const NodeCount& count);

}  // namespace pardnn
