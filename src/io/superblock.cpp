#include "io/superblock.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <string_view>

namespace pardnn {

namespace {

constexpr std::string_view kSignature = "\211HDF\r\n\032\n";
/// Version 1 with 8-byte addresses needs 52 bytes up to the end of file address.
constexpr std::size_t kHead = 64;

/// Little-endian, `width` bytes; all ones ("undefined") stay as they are.
std::uint64_t number_at(const std::array<std::uint8_t, kHead>& head, std::size_t at, std::size_t width) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < width; ++i) value |= std::uint64_t{head[at + i]} << (8 * i);
  return value;
}

Superblock parse(const std::array<std::uint8_t, kHead>& head, std::size_t have, std::uint64_t offset) {
  Superblock block;
  block.version = head[8];
  const bool old = block.version < 2;
  const std::size_t width = head[old ? 13 : 9];
  if (have < 14 || width == 0 || width > 8) {
    block.cut_off = have < 14;
    return block;
  }
  const std::size_t base = block.version == 0 ? 24 : block.version == 1 ? 28 : 12;
  const std::size_t end = base + 2 * width;
  block.cut_off = have < end + width;
  if (block.cut_off) return block;
  block.open_for_write = block.version == 3 && (head[11] & 1) != 0;
  // Stored with the base address in it; a user block put before the file later moves both.
  block.end_of_file = number_at(head, end, width) - number_at(head, base, width) + offset;
  return block;
}

}  // namespace

std::optional<Superblock> read_superblock(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  for (std::uint64_t offset = 0; in.seekg(static_cast<std::streamoff>(offset)); offset = offset == 0 ? 512 : 2 * offset) {
    std::array<std::uint8_t, kHead> head{};
    in.read(reinterpret_cast<char*>(head.data()), kHead);
    const auto have = static_cast<std::size_t>(in.gcount());
    if (have < kSignature.size()) return std::nullopt;
    if (std::equal(kSignature.begin(), kSignature.end(), head.begin(), [](char a, std::uint8_t b) { return static_cast<std::uint8_t>(a) == b; })) {
      return parse(head, have, offset);
    }
    in.clear();
  }
  return std::nullopt;
}

}  // namespace pardnn
