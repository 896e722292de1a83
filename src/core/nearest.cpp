#include "core/nearest.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace pardnn {

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i) + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const int replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[b.size()];
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
  // Long words come from hostile files: their tail does not make the answer better.
  const std::string_view head = word.substr(0, 64);
  // A word cut short is one slip, however much is missing.
  const auto slips = [&](std::string_view other) { return head.size() > 2 && other.starts_with(head) ? 1 : edit_distance(head, other); };
  const auto best = std::min_element(known.begin(), known.end(), [&](std::string_view a, std::string_view b) { return slips(a) < slips(b); });
  return best == known.end() ? std::string_view{} : *best;
}

std::string listed(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words) {
    if (!text.empty()) text += ", ";
    text += word;
  }
  return text;
}

}  // namespace pardnn
