#include "io/text_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "pardnn/error.hpp"
#include "pardnn/units.hpp"

namespace pardnn {

namespace {

/// Value of a wrong quantity: legal everywhere, so that one mistake gives one finding.
constexpr std::int64_t kWrong = 0;

bool whole_number(std::string_view text, std::int64_t& value) {
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc{} && result.ptr == text.data() + text.size();
}

}  // namespace

const char* kind_name(std::int64_t kind) { return kind == 1 ? "residual" : kind == 2 ? "reference" : "normal"; }

bool TextGraphBuilder::knows_node_key(std::string_view key) {
  constexpr std::array<std::string_view, 9> known{"comp", "mem", "temp", "kind", "colocation", "alias", "fixed", "gradient_of", "op"};
  return std::find(known.begin(), known.end(), key) != known.end();
}

bool TextGraphBuilder::knows_edge_key(std::string_view key) { return key == "bytes" || key == "output"; }

std::int64_t TextGraphBuilder::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? -1 : found->second;
}

std::int64_t TextGraphBuilder::grow() {
  for (auto* values : {&data_.comp, &data_.mem, &data_.temp, &data_.kind}) values->push_back(0);
  for (auto* values : {&data_.colocation, &data_.alias, &data_.fixed, &data_.gradient_of, &data_.op}) values->push_back(-1);
  has_comp_.push_back(0);
  return num_nodes() - 1;
}

std::int64_t TextGraphBuilder::add_nameless_node() { return grow(); }

std::int64_t TextGraphBuilder::add_node(std::string_view name) {
  const std::int64_t node = grow();
  PackedNames& names = data_.names;
  if (names.offsets.empty()) names.offsets.push_back(0);
  names.bytes.insert(names.bytes.end(), name.begin(), name.end());
  names.offsets.push_back(static_cast<std::int64_t>(names.bytes.size()));
  by_name_.emplace(name, node);  // a second node of the same name is check_graph's to report
  return node;
}

void TextGraphBuilder::add_edge(std::int64_t from, std::int64_t to, std::int64_t bytes, std::int64_t output) {
  from_.push_back(from);
  to_.push_back(to);
  bytes_.push_back(bytes);
  output_.push_back(std::max<std::int64_t>(output, 0));
  has_output_ |= output >= 0;
}

void TextGraphBuilder::complain(std::string place, std::string message) { findings_.push_back({std::move(place), std::move(message)}); }

std::int64_t TextGraphBuilder::integer_of(const Value& value, const std::string& place) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return *number;
  const std::string& text = std::get<std::string>(value);
  std::int64_t number = 0;
  if (whole_number(text, number)) return number;
  complain(place, fmt::format("'{}' is not a whole number", printable(text)));
  return kWrong;
}

std::int64_t TextGraphBuilder::bytes_of(const Value& value, const std::string& place) {
  std::int64_t number = 0;
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr || whole_number(*text, number)) return integer_of(value, place);
  try {
    return parse_bytes(*text);
  } catch (const InputError& error) {
    complain(place, error.what());
    return kWrong;
  }
}

std::int64_t TextGraphBuilder::time_of(const Value& value, const std::string& place) {
  std::int64_t number = 0;
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr || whole_number(*text, number)) return integer_of(value, place);
  try {
    return parse_time(*text);
  } catch (const InputError& error) {
    complain(place, error.what());
    return kWrong;
  }
}

std::int64_t TextGraphBuilder::kind_of(const Value& value, const std::string& place) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return std::get<std::int64_t>(value);
  for (const std::int64_t kind : {0, 1, 2}) {
    if (*text == kind_name(kind) || *text == std::to_string(kind)) return kind;
  }
  complain(place, fmt::format("unknown kind '{}', expected normal, residual or reference", printable(*text)));
  return kWrong;
}

bool TextGraphBuilder::set(std::int64_t node, std::string_view key, const Value& value, const std::string& place) {
  if (key == "comp") {
    data_.comp[node] = time_of(value, place);
    has_comp_[node] = 1;
  } else if (key == "mem") {
    data_.mem[node] = bytes_of(value, place);
  } else if (key == "temp") {
    data_.temp[node] = bytes_of(value, place);
  } else if (key == "kind") {
    data_.kind[node] = kind_of(value, place);
  } else if (key == "fixed") {
    data_.fixed[node] = integer_of(value, place);
  } else if (key == "alias") {
    references_.push_back({node, &GraphData::alias, value, place});
  } else if (key == "gradient_of") {
    references_.push_back({node, &GraphData::gradient_of, value, place});
  } else if (key == "colocation") {
    const auto* name = std::get_if<std::string>(&value);
    if (name != nullptr && !whole_number(*name, data_.colocation[node])) {
      named_groups_.emplace_back(node, *name);
    } else if (name == nullptr) {
      data_.colocation[node] = std::get<std::int64_t>(value);
    }
  } else if (key == "op") {
    const auto* name = std::get_if<std::string>(&value);
    const std::string type = name != nullptr ? *name : std::to_string(std::get<std::int64_t>(value));
    const auto added = op_index_.emplace(type, static_cast<std::int64_t>(data_.op_types.size()));
    if (added.second) data_.op_types.push_back(type);
    data_.op[node] = added.first->second;
  } else {
    return false;
  }
  return true;
}

bool TextGraphBuilder::set_graph(std::string_view key, const Value& value, const std::string& place) {
  const auto text_of = [&]() -> std::string {
    const auto* text = std::get_if<std::string>(&value);
    return text != nullptr ? *text : std::to_string(std::get<std::int64_t>(value));
  };
  if (key == "name") {
    data_.name = text_of();
  } else if (key == "producer") {
    data_.producer = text_of();
  } else if (key == "samples_per_step") {
    data_.samples_per_step = integer_of(value, place);
  } else {
    return false;
  }
  return true;
}

void TextGraphBuilder::resolve_references() {
  for (const Reference& reference : references_) {
    std::int64_t& slot = (data_.*reference.array)[reference.node];
    const auto* name = std::get_if<std::string>(&reference.to);
    if (name == nullptr) {
      slot = std::get<std::int64_t>(reference.to);
      if (data_.names.empty()) continue;
      if (slot == -1) continue;
      complain(reference.place, fmt::format("{}: expected the name of a node", slot));
    } else if (data_.names.empty()) {
      slot = integer_of(reference.to, reference.place);
      continue;
    } else {
      slot = find(*name);
      if (slot < 0) complain(reference.place, fmt::format("there is no node '{}'", printable(*name)));
      continue;
    }
    slot = -1;
  }
}

/// Groups given by name get numbers above those given as numbers, in order of first mention.
void TextGraphBuilder::number_groups() {
  std::int64_t next = 0;
  for (const std::int64_t group : data_.colocation) next = std::max(next, group < INT64_MAX ? group + 1 : group);
  std::unordered_map<std::string, std::int64_t> numbers;
  for (const auto& member : named_groups_) {
    const auto added = numbers.emplace(member.second, next);
    if (added.second && next < INT64_MAX) ++next;
    data_.colocation[member.first] = added.first->second;
  }
}

/// Counting sort by source; edges of one source stay in the order of the text.
void TextGraphBuilder::sort_edges() {
  data_.indptr.assign(static_cast<std::size_t>(num_nodes()) + 1, 0);
  for (const std::int64_t from : from_) ++data_.indptr[from + 1];
  for (std::int64_t n = 0; n < num_nodes(); ++n) data_.indptr[n + 1] += data_.indptr[n];
  std::vector<std::int64_t> next(data_.indptr.begin(), data_.indptr.end() - 1);
  data_.indices.resize(from_.size());
  data_.bytes.resize(from_.size());
  if (has_output_) data_.output.resize(from_.size());
  for (std::size_t i = 0; i < from_.size(); ++i) {
    const std::int64_t e = next[from_[i]]++;
    data_.indices[e] = to_[i];
    data_.bytes[e] = bytes_[i];
    if (has_output_) data_.output[e] = output_[i];
  }
}

void TextGraphBuilder::drop_defaults() {
  const auto drop = [](std::vector<std::int64_t>& values, std::int64_t usual) {
    if (std::all_of(values.begin(), values.end(), [usual](std::int64_t value) { return value == usual; })) values.clear();
  };
  drop(data_.temp, 0);
  drop(data_.kind, 0);
  for (auto* values : {&data_.colocation, &data_.alias, &data_.fixed, &data_.gradient_of, &data_.op}) drop(*values, -1);
  if (data_.op.empty() || std::find(data_.op.begin(), data_.op.end(), -1) == data_.op.end()) return;
  // Some nodes have a type and some none: those get the type "".
  const auto none = static_cast<std::int64_t>(data_.op_types.size());
  data_.op_types.emplace_back();
  std::replace(data_.op.begin(), data_.op.end(), std::int64_t{-1}, none);
}

TextGraph TextGraphBuilder::finish() {
  resolve_references();
  number_groups();
  sort_edges();
  drop_defaults();
  for (std::int64_t n = 0; n < num_nodes(); ++n) {
    if (has_comp_[n] == 0) complain("/nodes/comp", fmt::format("{} has no 'comp' (its compute time)", data_.printable_name(n)));
  }
  return {std::move(data_), std::move(findings_)};
}

}  // namespace pardnn
