#include <xxhash.h>

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <new>

#include "pardnn/graph.hpp"

namespace pardnn {
namespace {

/// Hashes little-endian int64 values, whatever the machine's byte order.
class Hasher {
 public:
  Hasher() : state_(XXH3_createState(), &XXH3_freeState) {
    if (!state_ || XXH3_128bits_reset(state_.get()) != XXH_OK) throw std::bad_alloc();
  }
  void add(const std::int64_t* values, std::size_t count) {
    if constexpr (std::endian::native == std::endian::little) {
      XXH3_128bits_update(state_.get(), values, count * sizeof(std::int64_t));
    } else {
      for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t swapped = static_cast<std::int64_t>(__builtin_bswap64(static_cast<std::uint64_t>(values[i])));
        XXH3_128bits_update(state_.get(), &swapped, sizeof swapped);
      }
    }
  }
  void add(std::int64_t value) { add(&value, 1); }
  /// `values`, or `count` times `absent` where the dataset is not there.
  void add(const std::vector<std::int64_t>& values, std::int64_t count, std::int64_t absent) {
    if (!values.empty() || count == 0) return add(values.data(), values.size());
    std::array<std::int64_t, 4096> block;
    block.fill(absent);
    for (std::int64_t left = count; left > 0; left -= static_cast<std::int64_t>(block.size())) {
      add(block.data(), static_cast<std::size_t>(std::min<std::int64_t>(left, block.size())));
    }
  }
  std::string hex() const {
    const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
    std::string text;
    for (const std::uint64_t half : {hash.high64, hash.low64}) {
      for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[(half >> shift) & 15];
    }
    return text;
  }

 private:
  std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state_;
};

}  // namespace

std::string fingerprint(const GraphData& data) {
  const std::int64_t nodes = data.num_nodes(), edges = data.num_edges();
  Hasher hasher;
  hasher.add(nodes);
  hasher.add(edges);
  hasher.add(data.indptr.data(), data.indptr.size());
  hasher.add(data.indices, edges, 0);
  hasher.add(data.bytes, edges, 0);
  hasher.add(data.output, edges, 0);
  hasher.add(data.comp, nodes, 0);
  hasher.add(data.mem, nodes, 0);
  hasher.add(data.temp, nodes, 0);
  hasher.add(data.kind, nodes, 0);
  hasher.add(data.colocation, nodes, -1);
  hasher.add(data.alias, nodes, -1);
  hasher.add(data.fixed, nodes, -1);
  return hasher.hex();
}

}  // namespace pardnn
