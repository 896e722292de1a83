/// How much memory this process may still take.
#pragma once

#include <cstddef>

namespace pardnn {

/// Bytes: the least of what the system has (MemAvailable), what the control group leaves (v1 or v2; file cache that can be
/// dropped counts as free), and what the process's own address space limit leaves. SIZE_MAX where nothing is known.
std::size_t available_memory();

}  // namespace pardnn
