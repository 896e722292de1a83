/// Tables for people: columns as wide as their widest cell.
#pragma once

#include <string>
#include <vector>

namespace pardnn::cli {

/// First row is the head. The first `left` columns are aligned left, the others right. Each line starts with `indent` spaces.
std::string text_table(const std::vector<std::vector<std::string>>& rows, std::size_t left = 1, std::size_t indent = 2);

}  // namespace pardnn::cli
