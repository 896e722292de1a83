/// The few pieces of JSON that readers and writers of io/ share. Include in .cpp files only: it brings nlohmann/json.
#pragma once

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

#include "core/json_check.hpp"
#include "pardnn/error.hpp"

namespace pardnn {

/// `text` as a JSON string with its quotes; what is not UTF-8 is replaced by U+FFFD.
inline std::string json_string(std::string_view text) {
  return nlohmann::json(std::string(text)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace pardnn
