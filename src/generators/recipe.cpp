#include "generators/recipe.hpp"

#include <algorithm>

#include "parallel/random.hpp"

namespace pardnn {

void sort_successors(NodeRecord& record) {
  auto& list = record.successors;
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) {
    return a.node != b.node ? a.node < b.node : a.bytes > b.bytes;
  });
  list.erase(std::unique(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.node == b.node; }), list.end());
}

Nanoseconds jittered(Nanoseconds time, std::uint64_t seed, std::int64_t n) {
  constexpr std::uint64_t stage = 0x6A69'7474;
  const std::uint64_t bits = random_bits(seed, stage, static_cast<std::uint64_t>(n));
  return time / 1000 * 950 + time % 1000 * 950 / 1000 + static_cast<Nanoseconds>(random_below(bits, static_cast<std::uint64_t>(time / 10 + 1)));
}

Nanoseconds kernel_time(std::int64_t flops, Bytes moved) {
  constexpr Nanoseconds launch = 3'000;
  constexpr std::int64_t flops_per_ns = 9'000, bytes_per_ns = 700;  // about 60 % and 80 % of a V100's peaks
  return launch + std::max(flops / flops_per_ns, moved / bytes_per_ns);
}

}  // namespace pardnn
