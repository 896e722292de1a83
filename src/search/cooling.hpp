/// Random numbers and temperatures of simulated annealing, in integers: the same on every machine and compiler.
#pragma once

#include <algorithm>
#include <cstdint>

#include "pardnn/units.hpp"
#include "parallel/random.hpp"

namespace pardnn {

/// A stream of random numbers that is a function of (seed, stage) alone.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::uint64_t stage) : seed_(seed), stage_(stage) {}
  std::uint64_t bits() { return random_bits(seed_, stage_, next_++); }
  std::int64_t below(std::int64_t n) { return static_cast<std::int64_t>(random_below(bits(), static_cast<std::uint64_t>(n))); }
  bool chance(std::int64_t percent) { return below(100) < percent; }

 private:
  std::uint64_t seed_, stage_;
  std::uint64_t next_ = 0;
};

/// Geometric cooling in a fixed number of steps, and the Metropolis slack at the current temperature.
class Cooling {
 public:
  /// Temperatures in millionths of `scale` (a makespan, > 0); start >= end >= 1.
  Cooling(std::int64_t start_millionths, std::int64_t end_millionths, std::int64_t steps, Nanoseconds scale)
      : temperature_(start_millionths * 1024), scale_(scale) {
    // ln(start / end) from halvings, linear between them (in 1/1024), spread over the steps.
    std::int64_t ratio = start_millionths * 1024 / std::max<std::int64_t>(end_millionths, 1), halvings = 0;
    for (; ratio >= 2048; ratio /= 2) halvings += 1024;
    halvings += std::max<std::int64_t>(ratio - 1024, 0);
    rate_ = halvings * kLn2 / 1024 / std::max<std::int64_t>(steps, 1);
  }

  void step() { temperature_ = std::max<std::int64_t>(temperature_ - temperature_ * rate_ / 65536, 1024); }

  /// How much worse a candidate may be, less than 2^60: temperature * -ln(u), the random number drawn before the candidate is judged, so
  /// that judging can stop early.
  Nanoseconds slack(RandomStream& random) const {
    __extension__ using Wide = __int128;
    const Wide slack = Wide(scale_) * (temperature_ / 1024) * negative_log(random.bits()) / 1'000'000 / 1024;
    return static_cast<Nanoseconds>(std::min<Wide>(slack, kSumLimit / 4));
  }

 private:
  static constexpr std::int64_t kLn2 = 45426;  // ln 2 * 2^16

  /// -ln(u) * 1024 for a uniform u in (0, 1]: halvings counted in bits, a linear piece between them.
  static std::int64_t negative_log(std::uint64_t bits) {
    bits |= 1;
    const int zeros = __builtin_clzll(bits);
    const std::int64_t fraction = static_cast<std::int64_t>((bits << zeros) >> 53) & 1023;
    return (static_cast<std::int64_t>(zeros) * 1024 + (1023 - fraction)) * kLn2 / 65536;
  }

  std::int64_t temperature_;
  std::int64_t rate_ = 0;
  Nanoseconds scale_;
};

}  // namespace pardnn
