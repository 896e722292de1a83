/// Quantities: whole nanoseconds, whole bytes, exact arithmetic (model.md, Cost).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pardnn {

using Nanoseconds = std::int64_t;
using Bytes = std::int64_t;
using BytesPerSecond = std::int64_t;
/// A ratio held exactly: speed 1.0 is 1'000'000, headroom 0.1 is 100'000.
using Millionths = std::int64_t;

inline constexpr Millionths kOne = 1'000'000;
/// No sum of times or bytes in a graph may reach this (graph-format.md), so that no later sum overflows.
inline constexpr std::int64_t kSumLimit = std::int64_t{1} << 62;
/// Later than any time of a run.
inline constexpr Nanoseconds kNever = INT64_MAX;
/// Capacity of a device whose memory is unlimited.
inline constexpr Bytes kUnlimited = kSumLimit;

/// ceil(a * b / c) in exact integers, for a, b >= 0 and c > 0; the result must fit 63 bits (it is clamped to 2^63 - 1).
inline std::int64_t ceil_mul_div(std::int64_t a, std::int64_t b, std::int64_t c) {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product == 0 ? 0 : (product - 1) / c + 1;
  __extension__ using Wide = unsigned __int128;
  const Wide quotient = (Wide(a) * Wide(b) + Wide(c) - 1) / Wide(c);
  constexpr std::int64_t greatest = INT64_MAX;
  return quotient > Wide(greatest) ? greatest : static_cast<std::int64_t>(quotient);
}

/// Time that `bytes` take on a link without its latency: ceil(bytes * 10^9 / bandwidth).
inline Nanoseconds transfer_time(Bytes bytes, BytesPerSecond bandwidth) {
  return ceil_mul_div(bytes, 1'000'000'000, bandwidth);
}

// Quantities as people write them (machine-format.md). Each throws InputError that shows right spellings.

/// "1.5GiB", "32GB", "1024B"; a number without a unit is refused.
Bytes parse_bytes(std::string_view text);
/// "5us", "1.5ms", "20ns", "2s"; cut off below one nanosecond.
Nanoseconds parse_time(std::string_view text);
/// "150GB/s", "200Gbit/s", "100Gbps"; cut off below one byte per second.
BytesPerSecond parse_bandwidth(std::string_view text);
/// "0.1", "1", "1.25": at most six decimals.
Millionths parse_millionths(std::string_view text);

/// "34359738368 B (32 GiB)"-like text for people.
std::string format_bytes(Bytes bytes);
/// "1.234 ms"-like text for people.
std::string format_time(Nanoseconds time);

}  // namespace pardnn
