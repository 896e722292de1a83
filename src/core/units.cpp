#include "pardnn/units.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

#include <fmt/format.h>

#include "pardnn/error.hpp"

namespace pardnn {

namespace {

/// A spelling and what it stands for: `numerator / denominator` base units.
struct Unit {
  std::string_view spelling;
  std::int64_t numerator;
  std::int64_t denominator = 1;
};

constexpr std::int64_t kKilo = 1000, kMega = kKilo * 1000, kGiga = kMega * 1000, kTera = kGiga * 1000;
constexpr std::int64_t kKibi = 1024, kMebi = kKibi * 1024, kGibi = kMebi * 1024, kTebi = kGibi * 1024;

constexpr std::array kByteUnits{Unit{"B", 1},       Unit{"kB", kKilo},  Unit{"MB", kMega},  Unit{"GB", kGiga}, Unit{"TB", kTera},
                                Unit{"KiB", kKibi}, Unit{"MiB", kMebi}, Unit{"GiB", kGibi}, Unit{"TiB", kTebi}};
constexpr std::array kTimeUnits{Unit{"ns", 1}, Unit{"us", kKilo}, Unit{"ms", kMega}, Unit{"s", kGiga}};
constexpr std::array kBandwidthUnits{
    Unit{"B/s", 1},         Unit{"kB/s", kKilo},     Unit{"MB/s", kMega},     Unit{"GB/s", kGiga},     Unit{"TB/s", kTera},
    Unit{"KiB/s", kKibi},   Unit{"MiB/s", kMebi},    Unit{"GiB/s", kGibi},    Unit{"TiB/s", kTebi},
    Unit{"bit/s", 1, 8},    Unit{"kbit/s", kKilo, 8}, Unit{"Mbit/s", kMega, 8}, Unit{"Gbit/s", kGiga, 8}, Unit{"Tbit/s", kTera, 8},
    Unit{"bps", 1, 8},      Unit{"kbps", kKilo, 8},  Unit{"Mbps", kMega, 8},  Unit{"Gbps", kGiga, 8},  Unit{"Tbps", kTera, 8}};

/// A quantity cut into its parts: "1.5 GiB" is whole "1", fraction "5", unit "GiB".
struct Parts {
  std::string_view whole, fraction, unit;
  std::string number() const { return fraction.empty() ? std::string(whole) : fmt::format("{}.{}", whole, fraction); }
};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view take_digits(std::string_view& rest) {
  const auto end = std::find_if_not(rest.begin(), rest.end(), is_digit);
  const auto count = static_cast<std::size_t>(end - rest.begin());
  const std::string_view digits = rest.substr(0, count);
  rest.remove_prefix(count);
  return digits;
}

bool starts_exponent(std::string_view rest) {
  if (rest.size() < 2 || (rest[0] != 'e' && rest[0] != 'E')) return false;
  return is_digit(rest[1]) || ((rest[1] == '+' || rest[1] == '-') && rest.size() > 2 && is_digit(rest[2]));
}

/// Splits `text`; `example` shows a right spelling in errors.
Parts split(std::string_view text, std::string_view what, std::string_view example) {
  const auto refuse = [&](std::string_view why) {
    return InputError(fmt::format("{} '{}': {}; write it like {}", what, printable(text, 60), why, example));
  };
  if (text.empty()) throw refuse("empty");
  if (text[0] == '-') throw refuse("negative");
  Parts parts;
  std::string_view rest = text;
  parts.whole = take_digits(rest);
  if (parts.whole.empty()) throw refuse("not a number");
  if (!rest.empty() && rest[0] == '.') {
    rest.remove_prefix(1);
    parts.fraction = take_digits(rest);
    if (parts.fraction.empty()) throw refuse("no digit after the decimal point");
  }
  if (starts_exponent(rest)) throw refuse("exponents are not accepted");
  if (rest.size() > 1 && rest[0] == ' ') rest.remove_prefix(1);
  parts.unit = rest;
  return parts;
}

/// floor(whole.fraction * unit), exact for any number of digits. -1 if it reaches kSumLimit.
std::int64_t scaled(const Parts& parts, const Unit& unit) {
  __extension__ using Wide = unsigned __int128;
  constexpr Wide limit = Wide(kSumLimit) * 8;
  Wide whole = 0;
  for (const char c : parts.whole) {
    whole = whole * 10 + static_cast<unsigned>(c - '0');
    if (whole >= limit) return -1;
  }
  // From the last digit on: floor((d * unit + x) / 10) = floor((d * unit + floor(x)) / 10), so nothing is lost.
  Wide below = 0;
  for (auto c = parts.fraction.rbegin(); c != parts.fraction.rend(); ++c) {
    below = (Wide(static_cast<unsigned>(*c - '0')) * Wide(unit.numerator) + below) / 10;
  }
  const Wide value = (whole * Wide(unit.numerator) + below) / Wide(unit.denominator);
  return value >= Wide(kSumLimit) ? -1 : static_cast<std::int64_t>(value);
}

const Unit* find_unit(std::span<const Unit> units, std::string_view spelling) {
  const auto found = std::find_if(units.begin(), units.end(), [&](const Unit& unit) { return unit.spelling == spelling; });
  return found == units.end() ? nullptr : &*found;
}

std::int64_t convert(const Parts& parts, const Unit& unit, std::string_view what, std::string_view text) {
  const std::int64_t value = scaled(parts, unit);
  if (value < 0) throw InputError(fmt::format("{} '{}': too large; it must stay below 2^62", what, printable(text, 60)));
  return value;
}

/// Both readings of a size whose unit is missing or unclear; an empty prefix stands for giga.
std::string both_spellings(const Parts& parts) {
  constexpr std::string_view prefixes = "kmgt";
  constexpr std::array<std::string_view, 4> decimal{"kB", "MB", "GB", "TB"}, binary{"KiB", "MiB", "GiB", "TiB"};
  const char first = parts.unit.empty() ? 'g' : static_cast<char>(std::tolower(static_cast<unsigned char>(parts.unit[0])));
  const std::size_t found = prefixes.find(first);
  const std::size_t prefix = found == std::string_view::npos ? 2 : found;
  const auto reading = [&](std::string_view unit) {
    const std::int64_t bytes = scaled(parts, *find_unit(kByteUnits, unit));
    const std::string amount = bytes < 0 ? "too large" : fmt::format("{} bytes", bytes);
    return fmt::format("{}{} ({})", printable(parts.number(), 40), unit, amount);
  };
  return fmt::format("{} or {}", reading(decimal[prefix]), reading(binary[prefix]));
}

std::string unit_complaint(const Parts& parts) {
  return parts.unit.empty() ? "no unit" : fmt::format("unknown unit '{}'", printable(parts.unit, 20));
}

/// `value` in hundredths of `unit`, without trailing zeros: 32, 1.5, 0.07.
std::string two_decimals(std::int64_t value, std::int64_t unit) {
  std::int64_t whole = value / unit;
  std::int64_t hundredths = static_cast<std::int64_t>(static_cast<double>(value % unit) / static_cast<double>(unit) * 100 + 0.5);
  if (hundredths == 100) {
    whole += 1;
    hundredths = 0;
  }
  if (hundredths == 0) return fmt::format("{}", whole);
  if (hundredths % 10 == 0) return fmt::format("{}.{}", whole, hundredths / 10);
  return fmt::format("{}.{:02}", whole, hundredths);
}

}  // namespace

Bytes parse_bytes(std::string_view text) {
  const Parts parts = split(text, "size", "32GiB or 32GB");
  if (const Unit* unit = find_unit(kByteUnits, parts.unit)) return convert(parts, *unit, "size", text);
  throw InputError(fmt::format("size '{}': {}; write {}, in one of B kB MB GB TB KiB MiB GiB TiB", printable(text, 60),
                               unit_complaint(parts), both_spellings(parts)));
}

Nanoseconds parse_time(std::string_view text) {
  const Parts parts = split(text, "time", "5us or 1.5ms");
  if (const Unit* unit = find_unit(kTimeUnits, parts.unit)) return convert(parts, *unit, "time", text);
  const std::string number = printable(parts.number(), 40);
  throw InputError(fmt::format("time '{}': {}; write {}us or {}ms, in one of ns us ms s", printable(text, 60), unit_complaint(parts),
                               number, number));
}

BytesPerSecond parse_bandwidth(std::string_view text) {
  const Parts parts = split(text, "bandwidth", "150GB/s (bytes) or 200Gbit/s (bits)");
  if (const Unit* unit = find_unit(kBandwidthUnits, parts.unit)) return convert(parts, *unit, "bandwidth", text);
  const std::string number = printable(parts.number(), 40);
  throw InputError(fmt::format("bandwidth '{}': {}; write {}GB/s (bytes) or {}Gbit/s (bits); prefixes k M G T Ki Mi Gi Ti, Gbps is Gbit/s",
                               printable(text, 60), unit_complaint(parts), number, number));
}

Millionths parse_millionths(std::string_view text) {
  Parts parts = split(text, "number", "0.1 or 1.25");
  if (!parts.unit.empty()) {
    throw InputError(fmt::format("number '{}': unexpected '{}'; write it like 0.1 or 1.25", printable(text, 60), printable(parts.unit, 20)));
  }
  const std::size_t last = parts.fraction.find_last_not_of('0');
  if (last != std::string_view::npos && last >= 6) {
    throw InputError(fmt::format("number '{}': at most six decimals", printable(text, 60)));
  }
  return convert(parts, Unit{"", kOne}, "number", text);
}

std::string format_bytes(Bytes bytes) {
  constexpr std::array<std::string_view, 4> units{"KiB", "MiB", "GiB", "TiB"};
  if (bytes >= kUnlimited) return "unlimited";
  if (bytes < kKibi) return fmt::format("{} B", bytes);
  std::size_t unit = 0;
  std::int64_t size = kKibi;
  while (unit + 1 < units.size() && bytes / size >= 1024) {
    size *= 1024;
    ++unit;
  }
  return fmt::format("{} B ({} {})", bytes, two_decimals(bytes, size), units[unit]);
}

std::string format_time(Nanoseconds time) {
  if (time < kKilo) return fmt::format("{} ns", time);
  if (time < kMega) return fmt::format("{}.{:03} us", time / kKilo, time % kKilo);
  if (time < kGiga) return fmt::format("{}.{:03} ms", time / kMega, time % kMega / kKilo);
  return fmt::format("{}.{:03} s", time / kGiga, time % kGiga / kMega);
}

}  // namespace pardnn
