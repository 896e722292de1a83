/// The known word that a misspelt one most likely means.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace pardnn {

/// Least number of characters inserted, deleted or replaced that turn `a` into `b`. O(|a| |b|).
int edit_distance(std::string_view a, std::string_view b);

/// The word of `known` nearest to `word` (the first of equals); empty if `known` is.
std::string_view nearest(std::string_view word, std::span<const std::string_view> known);

/// "a, b, c".
std::string listed(std::span<const std::string_view> words);

}  // namespace pardnn
