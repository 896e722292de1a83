#include "io/name_index.hpp"

#include <xxhash.h>

#include <bit>
#include <charconv>
#include <string>

namespace pardnn {

namespace {

std::uint64_t hash_of(std::string_view name) { return XXH3_64bits(name.data(), name.size()); }

/// The index that `name` spells the way we write it: no sign, no leading zero; -1 for anything else.
std::int64_t decimal_index(std::string_view name, std::int64_t num_nodes) {
  std::int64_t n = -1;
  const auto result = std::from_chars(name.data(), name.data() + name.size(), n);
  const bool whole = result.ec == std::errc{} && result.ptr == name.data() + name.size();
  const bool canonical = !name.empty() && name[0] != '-' && (name[0] != '0' || name.size() == 1);
  return whole && canonical && n < num_nodes ? n : -1;
}

}  // namespace

NameIndex::NameIndex(const PackedNames& names, std::int64_t num_nodes) : names_(&names), num_nodes_(num_nodes) {
  if (names.empty()) return;
  slots_.assign(std::bit_ceil(static_cast<std::size_t>(num_nodes) * 2 + 2), -1);
  const std::size_t mask = slots_.size() - 1;
  for (std::int64_t n = 0; n < num_nodes; ++n) {
    std::size_t slot = hash_of(names[n]) & mask;
    while (slots_[slot] >= 0) slot = (slot + 1) & mask;
    slots_[slot] = n;
  }
}

std::int64_t NameIndex::find(std::string_view name, std::int64_t hint) const {
  if (names_->empty()) return decimal_index(name, num_nodes_);
  if (hint >= 0 && hint < num_nodes_ && is(hint, name)) return hint;
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t slot = hash_of(name) & mask; slots_[slot] >= 0; slot = (slot + 1) & mask) {
    if (is(slots_[slot], name)) return slots_[slot];
  }
  return -1;
}

std::string_view name_of(const PackedNames& names, std::int64_t n, std::string& buffer) {
  if (!names.empty()) return names[n];
  buffer = std::to_string(n);
  return buffer;
}

}  // namespace pardnn
