#include "pardnn/units.hpp"

#include <string>

#include <gtest/gtest.h>

#include "pardnn/error.hpp"

namespace pardnn {
namespace {

/// The message with which `parse` refuses `text`; empty if it accepts it.
template <typename Parse>
std::string refusal(Parse parse, std::string_view text) {
  try {
    parse(text);
    return {};
  } catch (const InputError& error) {
    return error.what();
  }
}

bool mentions(const std::string& message, std::string_view part) { return message.find(part) != std::string::npos; }

TEST(ParseBytes, DecimalAndBinaryUnitsDiffer) {
  EXPECT_EQ(parse_bytes("20GB"), 20'000'000'000);
  EXPECT_EQ(parse_bytes("20GiB"), 20LL << 30);
  EXPECT_EQ(parse_bytes("20 GiB"), 20LL << 30);
  EXPECT_EQ(parse_bytes("7.6GB"), 7'600'000'000);
  EXPECT_EQ(parse_bytes("7.6GiB"), 8'160'437'862);  // 8160437862.4 cut off
  EXPECT_EQ(parse_bytes("0.5TiB"), 1LL << 39);
  EXPECT_EQ(parse_bytes("1kB"), 1000);
  EXPECT_EQ(parse_bytes("1KiB"), 1024);
  EXPECT_EQ(parse_bytes("3MB"), 3'000'000);
  EXPECT_EQ(parse_bytes("3MiB"), 3 << 20);
  EXPECT_EQ(parse_bytes("2TB"), 2'000'000'000'000);
  EXPECT_EQ(parse_bytes("1024B"), 1024);
  EXPECT_EQ(parse_bytes("0B"), 0);
}

TEST(ParseBytes, DecimalsAreExactForAnyNumberOfDigits) {
  EXPECT_EQ(parse_bytes("1.5GiB"), 3LL << 29);
  EXPECT_EQ(parse_bytes("0.1kB"), 100);
  EXPECT_EQ(parse_bytes("0.3MB"), 300'000);  // 0.3 * 10^6 is not exact in double
  EXPECT_EQ(parse_bytes("1.9B"), 1);
  EXPECT_EQ(parse_bytes("0.99999999999999999999999999999999999999999TB"), 999'999'999'999);
  EXPECT_EQ(parse_bytes("0.000000000001000000000000000000000000000TB"), 1);
  EXPECT_EQ(parse_bytes("0.000000000000999999999999999999999999999TB"), 0);
  EXPECT_EQ(parse_bytes("4194303.999999999999TiB"), (1LL << 62) - 2);  // just below 2^62: exact near the limit
}

TEST(ParseBytes, MissingOrUnclearUnitShowsBothSpellings) {
  for (const char* text : {"20", "20G", "20gb", "20Gb", "20g"}) {
    const std::string message = refusal(parse_bytes, text);
    EXPECT_TRUE(mentions(message, "20GB (20000000000 bytes)")) << message;
    EXPECT_TRUE(mentions(message, "20GiB (21474836480 bytes)")) << message;
  }
  EXPECT_TRUE(mentions(refusal(parse_bytes, "7.6m"), "7.6MB (7600000 bytes) or 7.6MiB (7969177 bytes)"));
}

TEST(ParseBytes, EverythingElseIsRefused) {
  for (const char* text : {"", " ", "GiB", "-1GiB", "+1GiB", "20GBs", "1Gib", "2e10", "1e30GiB", "2e10B", "0x10B", "1.GiB", ".5GiB",
                           "1..5GiB", "1,5GiB", "20  GiB", "20GiB ", " 20GiB", "nan", "inf", "NaNGiB", "1 ", "20G iB", "20KB"}) {
    EXPECT_FALSE(refusal(parse_bytes, text).empty()) << "'" << text << "' was accepted";
  }
}

TEST(ParseBytes, OverflowIsRefusedNeverWrapped) {
  EXPECT_EQ(parse_bytes("4611686018427387903B"), (1LL << 62) - 1);
  for (const char* text : {"4611686018427387904B", "4194304TiB", "99999999999999999999999999999999999999999999999999TiB",
                           "340282366920938463463374607431768211456B", "18446744073709551616B"}) {
    EXPECT_TRUE(mentions(refusal(parse_bytes, text), "too large")) << text;
  }
}

TEST(ParseBytes, HostileTextIsEscapedInTheMessage) {
  EXPECT_FALSE(mentions(refusal(parse_bytes, "\x1b[2J"), "\x1b"));
  EXPECT_FALSE(mentions(refusal(parse_bytes, "1\x1b[2J"), "\x1b"));
}

TEST(ParseTime, UnitsAndCutOff) {
  EXPECT_EQ(parse_time("5us"), 5'000);
  EXPECT_EQ(parse_time("1.5ms"), 1'500'000);
  EXPECT_EQ(parse_time("20ns"), 20);
  EXPECT_EQ(parse_time("2s"), 2'000'000'000);
  EXPECT_EQ(parse_time("0.0019us"), 1);
  EXPECT_EQ(parse_time("0ns"), 0);
  for (const char* text : {"5", "5u", "5min", "5US", "-5us", "", "5m"}) EXPECT_FALSE(refusal(parse_time, text).empty()) << text;
  EXPECT_TRUE(mentions(refusal(parse_time, "5"), "5us or 5ms"));
}

TEST(ParseBandwidth, BytesAndBits) {
  EXPECT_EQ(parse_bandwidth("150GB/s"), 150'000'000'000);
  EXPECT_EQ(parse_bandwidth("1GiB/s"), 1LL << 30);
  EXPECT_EQ(parse_bandwidth("200Gbit/s"), 25'000'000'000);
  EXPECT_EQ(parse_bandwidth("100Gbps"), 12'500'000'000);
  EXPECT_EQ(parse_bandwidth("10Mbps"), 1'250'000);
  EXPECT_EQ(parse_bandwidth("9bit/s"), 1);      // 1.125 cut off
  EXPECT_EQ(parse_bandwidth("0.0151kbps"), 1);  // 15.1 bits
  EXPECT_EQ(parse_bandwidth("7bps"), 0);
  for (const char* text : {"150", "150GB", "150Gb", "150Gb/s", "150gbps", "150GBps", "", "-1GB/s", "1e9B/s"}) {
    EXPECT_FALSE(refusal(parse_bandwidth, text).empty()) << text;
  }
  EXPECT_TRUE(mentions(refusal(parse_bandwidth, "150"), "150GB/s (bytes) or 150Gbit/s (bits)"));
}

TEST(ParseMillionths, SixDecimalsExactly) {
  EXPECT_EQ(parse_millionths("0.1"), 100'000);
  EXPECT_EQ(parse_millionths("1"), 1'000'000);
  EXPECT_EQ(parse_millionths("1.25"), 1'250'000);
  EXPECT_EQ(parse_millionths("0.000001"), 1);
  EXPECT_EQ(parse_millionths("0.1000000"), 100'000);
  for (const char* text : {"0.0000001", "-0.1", "", "1e-3", "10%", "0.1 ", "nan"}) EXPECT_FALSE(refusal(parse_millionths, text).empty()) << text;
}

TEST(FormatBytes, BytesAndBinaryUnits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1024 B (1 KiB)");
  EXPECT_EQ(format_bytes(32LL << 30), "34359738368 B (32 GiB)");
  EXPECT_EQ(format_bytes(3LL << 29), "1610612736 B (1.5 GiB)");
  EXPECT_EQ(format_bytes(7'600'000'000), "7600000000 B (7.08 GiB)");
  EXPECT_EQ(format_bytes((1LL << 30) - 1), "1073741823 B (1024 MiB)");
  EXPECT_EQ(format_bytes(kUnlimited), "unlimited");
}

TEST(FormatTime, ScalesByThousands) {
  EXPECT_EQ(format_time(0), "0 ns");
  EXPECT_EQ(format_time(999), "999 ns");
  EXPECT_EQ(format_time(1'234), "1.234 us");
  EXPECT_EQ(format_time(1'234'567), "1.234 ms");
  EXPECT_EQ(format_time(61'002'000'000), "61.002 s");
}

TEST(CeilMulDiv, ExactPastSixtyFourBits) {
  EXPECT_EQ(ceil_mul_div(0, 5, 3), 0);
  EXPECT_EQ(ceil_mul_div(7, 1, 2), 4);
  EXPECT_EQ(ceil_mul_div(kSumLimit - 1, 1'000'000, 1'000'000), kSumLimit - 1);
  EXPECT_EQ(ceil_mul_div(kSumLimit - 1, 1'000'000'000, 1), INT64_MAX);
}

}  // namespace
}  // namespace pardnn
