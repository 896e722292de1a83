#include "io/chunk_decoder.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

namespace pardnn::h5 {

namespace {

using Buffer = std::vector<unsigned char>;

std::string inflate_all(std::size_t chunk_bytes, Buffer& bytes) {
  // Later filters of the writer may have made it a little longer than the chunk.
  uLongf length = compressBound(static_cast<uLong>(chunk_bytes)) + 64;
  Buffer out(length);
  const int code = uncompress(out.data(), &length, bytes.data(), static_cast<uLong>(bytes.size()));
  if (code != Z_OK) return code == Z_BUF_ERROR ? "its deflated data is cut off or too long" : "its deflated data is damaged";
  out.resize(length);
  bytes = std::move(out);
  return {};
}

/// Byte b of all elements lies together: first all bytes 0, then all bytes 1 ...; what does not fill an element comes last.
void unshuffle(std::size_t element_bytes, Buffer& bytes) {
  const std::size_t elements = element_bytes == 0 ? 0 : bytes.size() / element_bytes;
  if (element_bytes < 2 || elements < 2) return;
  Buffer out(bytes);
  for (std::size_t b = 0; b < element_bytes; ++b) {
    const unsigned char* const from = bytes.data() + b * elements;
    for (std::size_t i = 0; i < elements; ++i) out[i * element_bytes + b] = from[i];
  }
  bytes.swap(out);
}

/// Fletcher's checksum (1982) over 16-bit big-endian words, an odd last byte as the high half of one; the two sums modulo 65535.
std::uint32_t fletcher32(const unsigned char* data, std::size_t size) {
  std::uint64_t first = 0, second = 0;
  for (std::size_t i = 0; i < size; i += 2) {
    first += std::uint64_t{data[i]} << 8 | (i + 1 < size ? data[i + 1] : 0U);
    second += first;
    if (i % 4096 == 0) {  // long before either can overflow
      first %= 65535;
      second %= 65535;
    }
  }
  return static_cast<std::uint32_t>((second % 65535) << 16 | first % 65535);
}

/// The last four bytes are the checksum of the others, little-endian. 0 and 65535 are the same sum.
std::string check_sum(Buffer& bytes) {
  if (bytes.size() < 4) return "it is shorter than its checksum";
  const std::size_t size = bytes.size() - 4;
  const auto half = [&](std::size_t at) { return static_cast<std::uint32_t>(bytes[size + at] | bytes[size + at + 1] << 8) % 65535; };
  const std::uint32_t expected = fletcher32(bytes.data(), size);
  if ((half(2) << 16 | half(0)) != expected) return "its checksum is wrong";
  bytes.resize(size);
  return {};
}

}  // namespace

bool can_decode(std::span<const ChunkFilter> filters) {
  return std::all_of(filters.begin(), filters.end(), [](const ChunkFilter& filter) {
    return filter.id == H5Z_FILTER_DEFLATE || filter.id == H5Z_FILTER_SHUFFLE || filter.id == H5Z_FILTER_FLETCHER32;
  });
}

std::string decode_chunk(std::span<const ChunkFilter> filters, std::uint32_t skipped, std::size_t chunk_bytes, Buffer& bytes) {
  for (std::size_t i = filters.size(); i-- > 0;) {
    if ((skipped >> i & 1U) != 0) continue;
    std::string fault;
    if (filters[i].id == H5Z_FILTER_DEFLATE) fault = inflate_all(chunk_bytes, bytes);
    if (filters[i].id == H5Z_FILTER_SHUFFLE) unshuffle(filters[i].element_bytes, bytes);
    if (filters[i].id == H5Z_FILTER_FLETCHER32) fault = check_sum(bytes);
    if (!fault.empty()) return fault;
  }
  if (bytes.size() == chunk_bytes) return {};
  return fmt::format("it holds {} bytes, expected {}", bytes.size(), chunk_bytes);
}

}  // namespace pardnn::h5
