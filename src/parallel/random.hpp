/// Random numbers as a function of (seed, stage, index): no hidden state, so no result depends on who asks first.
#pragma once

#include <cstdint>

namespace pardnn {

/// Mixes 64 bits so that each input bit changes each output bit with probability near one half; a bijection.
/// Finalizer of splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014).
constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// 64 random bits. Different indices of one (seed, stage) never give the same bits.
constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t stage, std::uint64_t index) {
  constexpr std::uint64_t golden = 0x9E3779B97F4A7C15u;
  const std::uint64_t stream = mix_bits(mix_bits(seed + golden) + stage * 0xD1342543DE82EF95u);
  return mix_bits(stream + (index + 1) * golden);
}

/// A number in [0, n) from 64 random bits, for n >= 1; its bias is at most n / 2^64.
constexpr std::uint64_t random_below(std::uint64_t bits, std::uint64_t n) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((Wide(bits) * Wide(n)) >> 64);
}

}  // namespace pardnn
