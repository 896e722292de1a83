#include "pardnn/error.hpp"

#include <cstdint>

#include <fmt/format.h>

namespace pardnn {

namespace {

unsigned byte_at(std::string_view text, std::size_t i) { return static_cast<unsigned char>(text[i]); }

/// One code point read from UTF-8: `length` = 0 where the bytes are not valid UTF-8.
struct CodePoint {
  std::uint32_t value = 0;
  std::size_t length = 0;
};

/// Number of bytes that a sequence starting with `lead` has; 0 if none starts so.
std::size_t sequence_length(unsigned lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) return 2;
  if (lead >= 0xE0 && lead < 0xF0) return 3;
  if (lead >= 0xF0 && lead < 0xF5) return 4;
  return 0;
}

/// Decodes at `i`; refuses overlong forms, surrogates and values past U+10FFFF (RFC 3629).
CodePoint decode(std::string_view text, std::size_t i) {
  const unsigned lead = byte_at(text, i);
  const std::size_t length = sequence_length(lead);
  if (length == 0 || i + length > text.size()) return {};
  if (length == 1) return {lead, 1};
  std::uint32_t value = lead & (0x7Fu >> length);
  for (std::size_t k = 1; k < length; ++k) {
    const unsigned next = byte_at(text, i + k);
    if ((next & 0xC0u) != 0x80u) return {};
    value = (value << 6) | (next & 0x3Fu);
  }
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value < 0xE000;
  if (value < least[length] || value > 0x10FFFF || surrogate) return {};
  return {value, length};
}

/// Characters that change a terminal's state, its writing direction or its line, or end a quotation.
bool needs_escape(std::uint32_t c) {
  const bool control = c < 0x20 || (c >= 0x7F && c < 0xA0);
  const bool direction = (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) || c == 0x200E || c == 0x200F || c == 0x061C;
  const bool line_end = c == 0x2028 || c == 0x2029;
  return control || direction || line_end || c == '"' || c == '\'' || c == '\\' || c == 0xFEFF;
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode(text, i);
    const std::size_t length = point.length == 0 ? 1 : point.length;
    const bool escape = point.length == 0 || needs_escape(point.value);
    characters += escape ? 4 * length : 1;
    if (characters > limit) return out + "...";
    if (escape) {
      for (std::size_t k = 0; k < length; ++k) out += fmt::format("\\x{:02x}", byte_at(text, i + k));
    } else {
      out += text.substr(i, length);
    }
    i += length;
  }
  return out;
}

}  // namespace pardnn
