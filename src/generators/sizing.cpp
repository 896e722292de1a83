#include "generators/sizing.hpp"

#include <algorithm>
#include <string>

#include "pardnn/error.hpp"

namespace pardnn {

std::int64_t chosen(std::int64_t value, std::int64_t standard, std::int64_t greatest, const char* flag) {
  if (value == 0) return standard;
  if (value < 1 || value > greatest) {
    throw InputError(std::string("generate: ") + flag + " " + std::to_string(value) + " is not in 1 .. " + std::to_string(greatest));
  }
  return value;
}

static std::int64_t distance(std::int64_t a, std::int64_t b) { return a < b ? b - a : a - b; }

/// The x >= 1 with count(x) nearest to `nodes`, the lower of two.
template <typename Count>
static std::int64_t nearest_size(std::int64_t nodes, const Count& count) {
  std::int64_t below = 1, above = 2;
  while (count(above) < nodes) {
    below = above;
    above *= 2;
  }
  while (above - below > 1) {
    const std::int64_t middle = below + (above - below) / 2;
    (count(middle) < nodes ? below : above) = middle;
  }
  return distance(count(above), nodes) < distance(count(below), nodes) ? above : below;
}

static std::int64_t square_root(std::int64_t x) {
  std::int64_t root = 0;
  for (std::int64_t bit = std::int64_t{1} << 30; bit > 0; bit /= 2) {
    if ((root + bit) * (root + bit) <= x) root += bit;
  }
  return root;
}

/// Tries numbers of copies around the one that the ratio asks for.
static Extent best_of_both(std::int64_t nodes, std::int64_t layers_per_copy, const NodeCount& count) {
  const std::int64_t each = count({3, 3}) - count({2, 3}) - count({3, 2}) + count({2, 2});
  const std::int64_t middle = std::max<std::int64_t>(1, square_root(nodes / (std::max<std::int64_t>(1, each) * layers_per_copy)));
  const std::int64_t reach = std::min<std::int64_t>(middle / 4, 16);
  Extent best;
  for (std::int64_t copies = middle - reach; copies <= middle + reach; ++copies) {
    const Extent extent{nearest_size(nodes, [&](std::int64_t x) { return count({x, copies}); }), copies};
    if (copies == middle - reach || distance(count(extent), nodes) < distance(count(best), nodes)) best = extent;
  }
  return best;
}

Extent nearest_extent(std::int64_t nodes, Extent wanted, std::int64_t layers_per_copy, const NodeCount& count) {
  if (wanted.layers > 0 && wanted.copies > 0) return wanted;
  const Extent least{std::max<std::int64_t>(wanted.layers, 1), std::max<std::int64_t>(wanted.copies, 1)};
  if (const std::int64_t smallest = count(least); smallest > nodes + nodes / 10) {
    throw InputError("generate: --nodes " + std::to_string(nodes) + " is too few for these options; their smallest graph has " +
                     std::to_string(smallest));
  }
  if (wanted.copies > 0) return {nearest_size(nodes, [&](std::int64_t x) { return count({x, wanted.copies}); }), wanted.copies};
  if (wanted.layers > 0) return {wanted.layers, nearest_size(nodes, [&](std::int64_t x) { return count({wanted.layers, x}); })};
  return best_of_both(nodes, layers_per_copy, count);
}

}  // namespace pardnn
