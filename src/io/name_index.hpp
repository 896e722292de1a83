/// From a node's name to its file index, without an object per name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pardnn/graph.hpp"

namespace pardnn {

/// Open addressing over 64-bit hashes; 16 to 32 bytes per name. Keeps a reference to `names`.
class NameIndex {
 public:
  /// `names` empty: nodes are named "0" ... by their index. Names must be unique. O(V).
  NameIndex(const PackedNames& names, std::int64_t num_nodes);

  /// File index of the node called `name`, -1 if there is none. `hint`: tried first, for files that are in node order.
  std::int64_t find(std::string_view name, std::int64_t hint = -1) const;

 private:
  bool is(std::int64_t n, std::string_view name) const { return (*names_)[n] == name; }

  const PackedNames* names_;
  std::int64_t num_nodes_;
  std::vector<std::int64_t> slots_;
};

/// Name of file node n: its own, or its index in decimal. `buffer` holds the latter.
std::string_view name_of(const PackedNames& names, std::int64_t n, std::string& buffer);

}  // namespace pardnn
