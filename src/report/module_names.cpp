#include "report/module_names.hpp"

#include <algorithm>
#include <array>

namespace pardnn {

namespace {

/// Ranges of nodes where names say nothing.
constexpr std::int64_t kRanges = 64;
constexpr std::string_view kSeparators = "./";
constexpr std::array<std::string_view, 5> kBackward{"grad", "grads", "gradients", "backward", "bwd"};
constexpr std::array<std::string_view, 5> kUpdate{"opt", "optimizer", "update", "train", "apply"};

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

std::string_view first_component(std::string_view name) { return name.substr(0, name.find_first_of(kSeparators)); }

}  // namespace

Phase phase_of(std::string_view name) {
  const std::string_view first = first_component(name);
  if (first.size() == name.size()) return Phase::forward;
  return is_one_of(kBackward, first) ? Phase::backward : is_one_of(kUpdate, first) ? Phase::update : Phase::forward;
}

std::string_view module_of(std::string_view name) {
  const std::size_t last = name.find_last_of(kSeparators);
  return last == std::string_view::npos ? std::string_view{} : name.substr(0, last + 1);
}

std::string_view module_prefix(std::string_view name, int depth) {
  if (phase_of(name) != Phase::forward) ++depth;
  std::size_t end = name.find_first_of(kSeparators);
  for (int d = 1; d < depth && end != std::string_view::npos; ++d) {
    const std::size_t next = name.find_first_of(kSeparators, end + 1);
    if (next == std::string_view::npos) break;
    end = next;
  }
  return name.substr(0, end);
}

std::string_view layer_of(std::string_view name) {
  if (phase_of(name) != Phase::forward) name.remove_prefix(first_component(name).size() + 1);
  return first_component(name);
}

std::string range_of(std::int64_t file_id, std::int64_t nodes) {
  const std::int64_t each = (nodes + kRanges - 1) / kRanges, first = file_id / each * each;
  return "nodes " + std::to_string(first) + " to " + std::to_string(std::min(first + each, nodes) - 1);
}

}  // namespace pardnn
