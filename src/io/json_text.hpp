/// The few pieces of JSON that readers and writers of io/ share. Include in .cpp files only: it brings nlohmann/json.
#pragma once

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

#include "pardnn/error.hpp"

namespace pardnn {

/// `text` as a JSON string with its quotes; what is not UTF-8 is replaced by U+FFFD.
inline std::string json_string(std::string_view text) {
  return nlohmann::json(std::string(text)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// What the parser says, without its own prefix, in one line: "not valid JSON at byte 17: syntax error ...".
inline std::string json_fault(std::size_t byte, std::string_view what) {
  const std::size_t prefix = what.find("] ");
  if (prefix != std::string_view::npos) what.remove_prefix(prefix + 2);
  return fmt::format("not valid JSON at byte {}: {}", byte, printable(what, 200));
}

}  // namespace pardnn
