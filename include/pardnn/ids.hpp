/// Indices. All are signed 64-bit except the device, so that no graph that fits a machine can overflow them.
#pragma once

#include <cstdint>

namespace pardnn {

/// A node in the *internal* numbering of `Graph`: topological, sorted by depth (see graph.hpp).
using NodeId = std::int64_t;
/// An edge: its position in the CSR of successors.
using EdgeId = std::int64_t;
/// A device of the machine, 0 .. K-1; -1 where none is chosen yet.
using DeviceId = std::int32_t;
/// A set of nodes that must share a device (colocation group, alias chain), or one free node (see graph.hpp).
using UnitId = std::int64_t;
/// A path of units found by graph slicing.
using ClusterId = std::int64_t;

inline constexpr DeviceId kNoDevice = -1;

}  // namespace pardnn
