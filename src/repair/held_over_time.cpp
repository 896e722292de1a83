#include "repair/held_over_time.hpp"

#include <algorithm>

namespace pardnn {
namespace {

/// Of slots that are not there: never the greatest, and far from overflow whatever is added.
constexpr Bytes kNothing = -kSumLimit;

}  // namespace

void HeldOverTime::assign(std::span<const Bytes> held) {
  if (held.empty()) {
    tree_.clear();
    leaves_ = 0;
    return;
  }
  leaves_ = 1;
  while (leaves_ < static_cast<std::int64_t>(held.size())) leaves_ *= 2;
  tree_.assign(static_cast<std::size_t>(2 * leaves_), {kNothing, 0});
  for (std::size_t i = 0; i < held.size(); ++i) tree_[static_cast<std::size_t>(leaves_) + i].greatest = held[i];
  for (std::int64_t node = leaves_ - 1; node >= 1; --node) pull(node);
}

void HeldOverTime::pull(std::int64_t node) {
  tree_[node].greatest = std::max(tree_[2 * node].greatest, tree_[2 * node + 1].greatest) + tree_[node].added;
}

void HeldOverTime::add(std::int64_t first, std::int64_t last, Bytes bytes) {
  if (first > last || bytes == 0) return;
  const auto apply = [&](std::int64_t node) {
    tree_[node].greatest += bytes;
    tree_[node].added += bytes;
  };
  // Up from both ends at once: what lies between takes the bytes whole, what is above an end is summed up anew.
  std::int64_t left = first + leaves_, right = last + leaves_;
  apply(left);
  if (right != left) apply(right);
  for (; left != right; left /= 2, right /= 2) {
    if (left < leaves_) pull(left);
    if (right < leaves_) pull(right);
    if (left / 2 == right / 2) continue;
    if (left % 2 == 0) apply(left + 1);
    if (right % 2 == 1) apply(right - 1);
  }
  for (; left >= 1; left /= 2) {
    if (left < leaves_) pull(left);
  }
}

std::int64_t HeldOverTime::first_greatest() const {
  std::int64_t node = 1;
  while (node < leaves_) node = 2 * node + (tree_[2 * node].greatest >= tree_[2 * node + 1].greatest ? 0 : 1);
  return node - leaves_;
}

Bytes HeldOverTime::at(std::int64_t slot) const {
  Bytes bytes = tree_[slot + leaves_].greatest;
  for (std::int64_t node = (slot + leaves_) / 2; node >= 1; node /= 2) bytes += tree_[node].added;
  return bytes;
}

}  // namespace pardnn
