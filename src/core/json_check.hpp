/// What is looked at in a JSON text before a tree is built from it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace pardnn {

/// Deeper than any document that this program reads. Trees are walked with recursion in places, such as printing.
inline constexpr std::size_t kDeepestJson = 64;

/// What the parser says, without its own prefix, in one line: "not valid JSON at byte 17: syntax error ...".
std::string json_fault(std::size_t byte, std::string_view what);

/// The first fault of `text`: not JSON, a key that stands twice in one object (the parser of trees would keep the last
/// without a word), or more than kDeepestJson objects and lists in one another. Empty if there is none.
/// O(n log n), no recursion. (The tree parser's own callbacks could do this, but walk the parent at the end of every object.)
std::string check_json(const std::string& text);

}  // namespace pardnn
