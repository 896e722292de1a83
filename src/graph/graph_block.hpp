/// A graph as one block of memory: what ranks share, and what travels between hosts.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "pardnn/graph.hpp"

namespace pardnn {

/// Bytes that `graph` takes as a block. O(1).
std::size_t block_bytes(const Graph& graph);

/// Writes `graph` into a block of block_bytes() bytes that begins on 64 bytes. O(V + E).
void write_block(const Graph& graph, std::span<std::byte> block);

/// The graph of a block that write_block wrote, without copying it: `block` must outlive the graph and all its copies. O(1).
Graph graph_of_block(std::span<const std::byte> block);

}  // namespace pardnn
