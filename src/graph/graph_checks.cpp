#include "graph/graph_checks.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>
#include <utility>

#include "pardnn/error.hpp"

namespace pardnn {

void Findings::begin_rule(std::string dataset) {
  dataset_ = std::move(dataset);
  offences_ = 0;
}

void Findings::end_rule() {
  if (offences_ > kPerRule && !full()) {
    found_.push_back({dataset_, fmt::format("and {} more like these", offences_ - kPerRule)});
  }
  offences_ = 0;
}

std::string to_line(const Finding& finding) { return finding.dataset + ": " + finding.message; }

namespace {

using Array = std::vector<std::int64_t>;

/// What nodes are called in findings: by index, and by name unless there is none or names themselves are broken.
struct Labels {
  const GraphData& data;
  bool named;
  std::string operator()(std::int64_t n) const {
    return named ? data.printable_name(n) : fmt::format("node {}", n);
  }
};

// ---------------------------------------------------------------------------------------------------- lengths

struct NodeArray {
  const char* dataset;
  const Array GraphData::*values;
  bool required;
  /// Least value allowed.
  std::int64_t least;
  std::int64_t greatest = std::numeric_limits<std::int64_t>::max();
};

constexpr std::array<NodeArray, 8> kNodeArrays{{
    {"/nodes/comp", &GraphData::comp, true, 0},
    {"/nodes/mem", &GraphData::mem, true, 0},
    {"/nodes/temp", &GraphData::temp, false, 0},
    {"/nodes/kind", &GraphData::kind, false, 0, 2},
    {"/nodes/colocation", &GraphData::colocation, false, -1},
    {"/nodes/alias", &GraphData::alias, false, -1},
    {"/nodes/fixed", &GraphData::fixed, false, -1, std::numeric_limits<DeviceId>::max()},
    {"/nodes/gradient_of", &GraphData::gradient_of, false, -1},
}};

/// What later rules may rely on.
struct Premises {
  bool node_arrays = true;
  bool edge_arrays = true;
  bool row_pointers = true;
  bool targets = true;
  bool names = true;
  bool alias_range = true;
};

bool check_length(const char* dataset, std::size_t length, std::int64_t expected, bool required, const char* of,
                  Findings& findings) {
  if (static_cast<std::int64_t>(length) == expected || (!required && length == 0)) return true;
  findings.begin_rule(dataset);
  findings.add([&] { return fmt::format("has length {}, expected {} ({})", length, expected, of); });
  findings.end_rule();
  return false;
}

void check_lengths(const GraphData& data, Premises& premises, Findings& findings) {
  const std::int64_t nodes = data.num_nodes(), edges = data.num_edges();
  for (const NodeArray& array : kNodeArrays) {
    premises.node_arrays &= check_length(array.dataset, (data.*array.values).size(), nodes, array.required,
                                         "the number of nodes, the length of /edges/indptr less 1", findings);
  }
  premises.node_arrays &= check_length("/nodes/op", data.op.size(), nodes, false, "the number of nodes", findings);
  premises.names = check_length("/nodes/name_offsets", data.names.offsets.size(), nodes + 1, false,
                                "the number of nodes plus 1", findings);
  premises.edge_arrays = check_length("/edges/bytes", data.bytes.size(), edges, true,
                                      "the number of edges, the length of /edges/indices", findings);
  premises.edge_arrays &= check_length("/edges/output", data.output.size(), edges, false,
                                       "the number of edges, the length of /edges/indices", findings);
}

// ---------------------------------------------------------------------------------------------------- edges

/// C9 of the user reports: 32-bit row pointers that wrapped show as negative or falling ones.
void check_row_pointers(const GraphData& data, Premises& premises, Findings& findings) {
  const Array& indptr = data.indptr;
  const std::size_t before = findings.size();
  findings.begin_rule("/edges/indptr");
  if (indptr[0] != 0) {
    findings.add([&] { return fmt::format("row pointer of row 0 is {}, expected 0", indptr[0]); });
  }
  for (std::int64_t row = 0; row < data.num_nodes() && !findings.full(); ++row) {
    if (indptr[row + 1] >= indptr[row]) continue;
    findings.add([&] {
      return fmt::format("row pointer overflow at row {}: indptr[{}] = {} is followed by indptr[{}] = {}, expected no less",
                         row, row, indptr[row], row + 1, indptr[row + 1]);
    });
  }
  if (indptr.back() != data.num_edges()) {
    findings.add([&] {
      return fmt::format("last row pointer is {}, expected {} (the length of /edges/indices)", indptr.back(), data.num_edges());
    });
  }
  findings.end_rule();
  premises.row_pointers = findings.size() == before;
}

/// Row that holds edge position e; needs legal row pointers.
std::int64_t row_of(const Array& indptr, std::int64_t e) {
  return std::upper_bound(indptr.begin(), indptr.end(), e) - indptr.begin() - 1;
}

/// "row 3 (node name), position 17", or the position alone where row pointers are broken.
std::string edge_text(const GraphData& data, const Labels& label, const Premises& premises, std::int64_t e) {
  if (!premises.row_pointers) return fmt::format("position {}", e);
  const std::int64_t row = row_of(data.indptr, e);
  return fmt::format("row {}, {}, position {}", row, label(row), e);
}

void check_targets(const GraphData& data, const Labels& label, Premises& premises, Findings& findings) {
  const std::int64_t nodes = data.num_nodes();
  const std::size_t before = findings.size();
  findings.begin_rule("/edges/indices");
  for (std::int64_t e = 0; e < data.num_edges() && !findings.full(); ++e) {
    const std::int64_t target = data.indices[e];
    if (target >= 0 && target < nodes) continue;
    findings.add([&] {
      return fmt::format("{}: node {} is out of range, expected 0 to {}", edge_text(data, label, premises, e), target, nodes - 1);
    });
  }
  findings.end_rule();
  premises.targets = findings.size() == before;
}

void check_self_loops(const GraphData& data, const Labels& label, const Premises& premises, Findings& findings) {
  findings.begin_rule("/edges/indices");
  for (std::int64_t row = 0; row < data.num_nodes() && !findings.full(); ++row) {
    for (std::int64_t e = data.indptr[row]; e < data.indptr[row + 1] && !findings.full(); ++e) {
      if (data.indices[e] == row) {
        findings.add([&] { return fmt::format("{}: self loop", edge_text(data, label, premises, e)); });
      }
    }
  }
  findings.end_rule();
}

void check_edge_values(const GraphData& data, const Labels& label, const Premises& premises, const char* dataset, const Array& values,
                       Findings& findings) {
  findings.begin_rule(dataset);
  for (std::size_t e = 0; e < values.size() && !findings.full(); ++e) {
    if (values[e] >= 0) continue;
    findings.add([&] {
      return fmt::format("{}: {} is negative", edge_text(data, label, premises, static_cast<std::int64_t>(e)), values[e]);
    });
  }
  findings.end_rule();
}

/// A cycle found by depth-first search without recursion, as its nodes in order; empty if there is none.
/// O(V + E); an edge to a higher id cannot close a cycle by itself, so a file in topological order ends after one sweep.
Array find_cycle(const GraphData& data) {
  const std::int64_t nodes = data.num_nodes();
  const Array& indptr = data.indptr;
  bool sorted = true;
  for (std::int64_t row = 0; row < nodes && sorted; ++row) {
    for (std::int64_t e = indptr[row]; e < indptr[row + 1]; ++e) sorted &= data.indices[e] >= row;
  }
  if (sorted) return {};

  enum : std::uint8_t { unseen, on_path, done };
  std::vector<std::uint8_t> state(nodes, unseen);
  struct Step {
    std::int64_t node, next_edge;
  };
  std::vector<Step> path;
  for (std::int64_t start = 0; start < nodes; ++start) {
    if (state[start] != unseen) continue;
    state[start] = on_path;
    path.push_back({start, indptr[start]});
    while (!path.empty()) {
      Step& top = path.back();
      if (top.next_edge == indptr[top.node + 1]) {
        state[top.node] = done;
        path.pop_back();
        continue;
      }
      const std::int64_t target = data.indices[top.next_edge++];
      if (target == top.node || state[target] == done) continue;
      if (state[target] == unseen) {
        state[target] = on_path;
        path.push_back({target, indptr[target]});
        continue;
      }
      Array cycle;
      const auto first = std::find_if(path.begin(), path.end(), [&](const Step& step) { return step.node == target; });
      for (auto step = first; step != path.end(); ++step) cycle.push_back(step->node);
      return cycle;
    }
  }
  return {};
}

/// "a -> b -> ... -> a", at most `kShown` nodes; starts at the lowest node so that the line does not depend on the search.
std::string cycle_text(const Labels& label, Array cycle) {
  constexpr std::size_t kShown = 8;
  std::rotate(cycle.begin(), std::min_element(cycle.begin(), cycle.end()), cycle.end());
  std::string text;
  for (std::size_t i = 0; i < std::min(cycle.size(), kShown); ++i) text += label(cycle[i]) + " -> ";
  if (cycle.size() > kShown) text += "... -> ";
  return fmt::format("cycle of {} nodes: {}{}", cycle.size(), text, label(cycle.front()));
}

void check_cycles(const GraphData& data, const Labels& label, Findings& findings) {
  if (findings.full()) return;
  Array cycle = find_cycle(data);
  if (cycle.empty()) return;
  findings.begin_rule("/edges/indices");
  findings.add([&] { return cycle_text(label, std::move(cycle)); });
  findings.end_rule();
}

// ---------------------------------------------------------------------------------------------------- node values

std::string range_fault(const NodeArray& array, std::int64_t value) {
  if (array.values == &GraphData::kind) {
    return fmt::format("unknown kind {}, expected 0 (normal), 1 (residual) or 2 (reference)", value);
  }
  if (value > array.greatest) return fmt::format("{} is too great, expected at most {}", value, array.greatest);
  if (array.least == 0) return fmt::format("{} is negative", value);
  return fmt::format("{} is below {}", value, array.least);
}

void check_node_values(const GraphData& data, const Labels& label, const NodeArray& array, Findings& findings) {
  const Array& values = data.*array.values;
  findings.begin_rule(array.dataset);
  for (std::size_t n = 0; n < values.size() && !findings.full(); ++n) {
    if (values[n] >= array.least && values[n] <= array.greatest) continue;
    findings.add([&] {
      return fmt::format("{}: {}", label(static_cast<std::int64_t>(n)), range_fault(array, values[n]));
    });
  }
  findings.end_rule();
}

/// Sums of values must stay below 2^62; negative values are another rule's offence and count as 0.
void check_sum(const char* dataset, const Array& values, const Array& more, Findings& findings) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    for (const std::int64_t value : {values[i], more.empty() ? std::int64_t{0} : more[i]}) {
      if (value <= 0) continue;
      // sum < 2^62 and value < 2^63: the difference cannot overflow.
      if (value >= kSumLimit - sum) {
        findings.begin_rule(dataset);
        findings.add([&] { return fmt::format("the sum up to index {} reaches 2^62, the greatest that is exact everywhere", i); });
        findings.end_rule();
        return;
      }
      sum += value;
    }
  }
}

void check_operations(const GraphData& data, const Labels& label, Findings& findings) {
  const auto types = static_cast<std::int64_t>(data.op_types.size());
  findings.begin_rule("/nodes/op");
  for (std::size_t n = 0; n < data.op.size() && !findings.full(); ++n) {
    if (data.op[n] >= 0 && data.op[n] < types) continue;
    findings.add([&] {
      return fmt::format("{}: operation type {} is out of range, /op_types has {}", label(static_cast<std::int64_t>(n)),
                         data.op[n], types);
    });
  }
  findings.end_rule();
}

void check_gradients(const GraphData& data, const Labels& label, Findings& findings) {
  const std::int64_t nodes = data.num_nodes();
  findings.begin_rule("/nodes/gradient_of");
  for (std::int64_t n = 0; n < static_cast<std::int64_t>(data.gradient_of.size()) && !findings.full(); ++n) {
    const std::int64_t residual = data.gradient_of[n];
    if (residual < 0) continue;
    if (residual >= nodes) {
      findings.add([&] { return fmt::format("{}: node {} is out of range, expected -1 to {}", label(n), residual, nodes - 1); });
    } else if (data.kind.empty() || data.kind[residual] != 1) {
      findings.add([&] { return fmt::format("{}: {} is not a residual", label(n), label(residual)); });
    }
  }
  findings.end_rule();
}

// ---------------------------------------------------------------------------------------------------- aliases and units

void check_alias_range(const GraphData& data, const Labels& label, Premises& premises, Findings& findings) {
  const std::int64_t nodes = data.num_nodes();
  findings.begin_rule("/nodes/alias");
  const std::size_t before = findings.size();
  for (std::size_t n = 0; n < data.alias.size() && !findings.full(); ++n) {
    if (data.alias[n] < nodes) continue;
    findings.add([&] {
      return fmt::format("{}: node {} is out of range, expected -1 to {}", label(static_cast<std::int64_t>(n)),
                         data.alias[n], nodes - 1);
    });
  }
  findings.end_rule();
  const bool below = std::any_of(data.alias.begin(), data.alias.end(), [](std::int64_t a) { return a < -1; });
  premises.alias_range = findings.size() == before && !below;
}

/// End of every node's alias chain, or -1 where the chain runs into a cycle; cycles become findings. O(V).
Array alias_roots(const GraphData& data, const Labels& label, Findings& findings) {
  constexpr std::int64_t kUnseen = -2, kCyclic = -1, kOnPath = -3;
  Array root(data.alias.size(), kUnseen);
  Array path;
  findings.begin_rule("/nodes/alias");
  for (std::size_t start = 0; start < root.size(); ++start) {
    auto n = static_cast<std::int64_t>(start);
    while (root[n] == kUnseen) {
      root[n] = kOnPath;
      path.push_back(n);
      if (data.alias[n] < 0) break;
      n = data.alias[n];
    }
    std::int64_t end = root[n];
    if (end == kOnPath && data.alias[n] < 0) {
      end = n;
    } else if (end == kOnPath) {
      end = kCyclic;
      findings.add([&] { return fmt::format("alias cycle through {}", label(n)); });
    }
    for (const std::int64_t member : path) root[member] = end;
    path.clear();
  }
  findings.end_rule();
  return root;
}

void check_residual_aliases(const GraphData& data, const Labels& label, Findings& findings) {
  if (data.alias.empty() || data.kind.empty()) return;
  findings.begin_rule("/nodes/alias");
  for (std::int64_t n = 0; n < data.num_nodes() && !findings.full(); ++n) {
    if (data.kind[n] != 1 || data.alias[n] == -1) continue;
    findings.add([&] { return fmt::format("{}: a residual may not be an alias", label(n)); });
  }
  findings.end_rule();
}

/// Colocation groups that hold a residual, sorted.
Array groups_with_residual(const GraphData& data) {
  Array groups;
  for (std::size_t n = 0; n < data.colocation.size(); ++n) {
    if (data.kind[n] == 1 && data.colocation[n] >= 0) groups.push_back(data.colocation[n]);
  }
  std::sort(groups.begin(), groups.end());
  groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
  return groups;
}

/// A reference node mutates a residual, so one must stand in its colocation group or at the end of its alias chain.
void check_references(const GraphData& data, const Labels& label, const Array& root, Findings& findings) {
  if (data.kind.empty() || findings.full()) return;
  const Array groups = groups_with_residual(data);
  findings.begin_rule("/nodes/kind");
  for (std::int64_t n = 0; n < data.num_nodes() && !findings.full(); ++n) {
    if (data.kind[n] != 2) continue;
    const std::int64_t group = data.colocation.empty() ? -1 : data.colocation[n];
    if (group >= 0 && std::binary_search(groups.begin(), groups.end(), group)) continue;
    if (!root.empty() && root[n] >= 0 && data.kind[root[n]] == 1) continue;
    findings.add([&] {
      return fmt::format("{}: a reference node needs a residual in its colocation group or alias chain", label(n));
    });
  }
  findings.end_rule();
}

/// Union-find over nodes; the lower id is the representative, so results do not depend on the order of unions.
class NodeSets {
 public:
  explicit NodeSets(std::int64_t nodes) : parent_(nodes) {
    for (std::int64_t n = 0; n < nodes; ++n) parent_[n] = n;
  }
  std::int64_t find(std::int64_t n) {
    while (parent_[n] != n) n = parent_[n] = parent_[parent_[n]];
    return n;
  }
  void unite(std::int64_t a, std::int64_t b) {
    a = find(a);
    b = find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  Array parent_;
};

void unite_colocated(const GraphData& data, NodeSets& sets) {
  Array members;
  for (std::size_t n = 0; n < data.colocation.size(); ++n) {
    if (data.colocation[n] >= 0) members.push_back(static_cast<std::int64_t>(n));
  }
  std::sort(members.begin(), members.end(), [&](std::int64_t a, std::int64_t b) {
    return std::pair(data.colocation[a], a) < std::pair(data.colocation[b], b);
  });
  for (std::size_t i = 1; i < members.size(); ++i) {
    if (data.colocation[members[i - 1]] == data.colocation[members[i]]) sets.unite(members[i - 1], members[i]);
  }
}

/// B12 of the user reports: the line names both nodes and both devices.
void check_pins(const GraphData& data, const Labels& label, Findings& findings) {
  const bool pinned = std::any_of(data.fixed.begin(), data.fixed.end(), [](std::int64_t d) { return d >= 0; });
  if (!pinned || findings.full() || (data.colocation.empty() && data.alias.empty())) return;
  NodeSets sets(data.num_nodes());
  unite_colocated(data, sets);
  for (std::size_t n = 0; n < data.alias.size(); ++n) {
    if (data.alias[n] >= 0) sets.unite(static_cast<std::int64_t>(n), data.alias[n]);
  }
  Array first_pinned(data.num_nodes(), -1);
  findings.begin_rule("/nodes/fixed");
  for (std::int64_t n = 0; n < data.num_nodes() && !findings.full(); ++n) {
    if (data.fixed[n] < 0) continue;
    std::int64_t& first = first_pinned[sets.find(n)];
    if (first < 0) first = n;
    if (data.fixed[first] == data.fixed[n]) continue;
    findings.add([&] {
      return fmt::format("{} is pinned to device {} and {} to device {}, but colocation or alias ties them to one device",
                         label(first), data.fixed[first], label(n), data.fixed[n]);
    });
  }
  findings.end_rule();
}

// ---------------------------------------------------------------------------------------------------- names

/// Length of the UTF-8 sequence at the head of `text`, 0 if it is invalid (overlong, surrogate, past U+10FFFF, cut off);
/// `code` gets its code point. RFC 3629.
std::size_t decode_utf8(std::string_view text, std::uint32_t& code) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) {
    code = lead;
    return 1;
  }
  const std::size_t length = lead >= 0xC2 && lead <= 0xDF ? 2 : (lead & 0xF0) == 0xE0 ? 3 : lead >= 0xF0 && lead <= 0xF4 ? 4 : 0;
  if (length == 0 || text.size() < length) return 0;
  code = lead & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3FU);
  }
  constexpr std::array<std::uint32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[length] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return 0;
  return length;
}

/// Names are read in blocks of about this many bytes.
constexpr std::int64_t kNameBlock = std::int64_t{4} << 20;

/// Calls `visit(first, last, bytes)` for blocks of whole names.
template <typename Visit>
void for_each_block(std::span<const std::int64_t> offsets, const NameBytes& bytes, Visit&& visit) {
  const auto names = static_cast<std::int64_t>(offsets.size()) - 1;
  for (std::int64_t first = 0; first < names;) {
    const auto end = std::upper_bound(offsets.begin() + first + 1, offsets.end(), offsets[first] + kNameBlock);
    const std::int64_t last = std::min(std::max<std::int64_t>(end - offsets.begin() - 1, first + 1), names);
    if (!visit(first, last, bytes(first, last))) return;
    first = last;
  }
}

using Hash = std::pair<std::uint64_t, std::uint64_t>;

Hash hash_of(std::string_view name) {
  const XXH128_hash_t hash = XXH3_128bits(name.data(), name.size());
  return {hash.high64, hash.low64};
}

/// Keeps, sorted, the hashes that stand twice or more in `hashes` (sorted).
void keep_repeated(std::vector<Hash>& hashes) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < hashes.size();) {
    std::size_t end = i + 1;
    while (end < hashes.size() && hashes[end] == hashes[i]) ++end;
    if (end - i > 1) hashes[kept++] = hashes[i];
    i = end;
  }
  hashes.resize(kept);
}

/// Second pass: names whose hash is among `repeated`. Compares the names themselves, so that a made-up collision of
/// hashes is no offence. Only a bounded number of them is held.
void report_repeated(std::span<const std::int64_t> offsets, const NameBytes& bytes, const std::vector<Hash>& repeated,
                     Findings& findings) {
  constexpr std::size_t kHeld = 1 << 16;
  struct Seen {
    Hash hash;
    std::int64_t node;
    std::string name;
  };
  std::vector<Seen> seen;
  for_each_block(offsets, bytes, [&](std::int64_t first, std::int64_t last, std::string_view block) {
    for (std::int64_t n = first; n < last; ++n) {
      const std::string_view name = block.substr(offsets[n] - offsets[first], offsets[n + 1] - offsets[n]);
      const Hash hash = hash_of(name);
      if (std::binary_search(repeated.begin(), repeated.end(), hash)) seen.push_back({hash, n, std::string(name)});
    }
    return seen.size() < kHeld;
  });
  std::sort(seen.begin(), seen.end(), [](const Seen& a, const Seen& b) {
    return std::tie(a.hash, a.name, a.node) < std::tie(b.hash, b.name, b.node);
  });
  std::vector<std::pair<std::int64_t, std::int64_t>> pairs;  // node, its position in `seen`
  for (std::size_t i = 1; i < seen.size(); ++i) {
    if (seen[i].hash == seen[i - 1].hash && seen[i].name == seen[i - 1].name) {
      pairs.emplace_back(seen[i].node, static_cast<std::int64_t>(i));
    }
  }
  std::sort(pairs.begin(), pairs.end());
  findings.begin_rule("/nodes/name_bytes");
  for (const auto& pair : pairs) {
    const Seen& second = seen[pair.second];
    findings.add([&] {
      return fmt::format("nodes {} and {} have the same name {}", seen[pair.second - 1].node, second.node, printable(second.name));
    });
  }
  findings.end_rule();
}

bool check_name_offsets(std::span<const std::int64_t> offsets, std::int64_t num_bytes, Findings& findings) {
  const std::size_t before = findings.size();
  findings.begin_rule("/nodes/name_offsets");
  if (offsets[0] != 0) findings.add([&] { return fmt::format("offset of node 0 is {}, expected 0", offsets[0]); });
  for (std::size_t n = 0; n + 1 < offsets.size() && !findings.full(); ++n) {
    if (offsets[n + 1] >= offsets[n]) continue;
    findings.add([&] { return fmt::format("node {}: offset {} is followed by {}, expected no less", n, offsets[n], offsets[n + 1]); });
  }
  if (offsets.back() != num_bytes) {
    findings.add([&] { return fmt::format("last offset is {}, expected {} (the length of /nodes/name_bytes)", offsets.back(), num_bytes); });
  }
  findings.end_rule();
  return findings.size() == before;
}

}  // namespace

std::string name_fault(std::string_view name) {
  if (name.empty()) return "empty name";
  for (std::size_t i = 0; i < name.size();) {
    std::uint32_t code = 0;
    const std::size_t length = decode_utf8(name.substr(i), code);
    if (length == 0) return fmt::format("name is not valid UTF-8 at byte {}", i);
    if (code < 0x20 || (code >= 0x7F && code < 0xA0)) return fmt::format("name has the control character U+{:04X} at byte {}", code, i);
    i += length;
  }
  return {};
}

bool check_names(std::span<const std::int64_t> offsets, std::int64_t num_bytes, const NameBytes& bytes, Findings& findings) {
  if (offsets.empty()) return true;
  if (findings.full() || !check_name_offsets(offsets, num_bytes, findings)) return false;
  std::vector<Hash> hashes;
  hashes.reserve(offsets.size() - 1);
  findings.begin_rule("/nodes/name_bytes");
  for_each_block(offsets, bytes, [&](std::int64_t first, std::int64_t last, std::string_view block) {
    for (std::int64_t n = first; n < last; ++n) {
      const std::string_view name = block.substr(offsets[n] - offsets[first], offsets[n + 1] - offsets[n]);
      const std::string fault = name_fault(name);
      if (!fault.empty() && !findings.add([&] { return fmt::format("node {}: {}: '{}'", n, fault, printable(name)); })) return false;
      if (!name.empty()) hashes.push_back(hash_of(name));
    }
    return true;
  });
  findings.end_rule();
  if (findings.full()) return true;
  std::sort(hashes.begin(), hashes.end());
  keep_repeated(hashes);
  if (!hashes.empty()) report_repeated(offsets, bytes, hashes, findings);
  return true;
}

namespace {

/// False if names are not fit to be printed by other rules.
bool check_own_names(const GraphData& data, Findings& findings) {
  const PackedNames& names = data.names;
  const NameBytes bytes = [&](std::int64_t first, std::int64_t last) {
    return std::string_view(names.bytes.data() + names.offsets[first],
                            static_cast<std::size_t>(names.offsets[last] - names.offsets[first]));
  };
  return check_names(names.offsets, static_cast<std::int64_t>(names.bytes.size()), bytes, findings);
}

void check_all_nodes(const GraphData& data, const Labels& label, Premises& premises, Findings& findings) {
  for (const NodeArray& array : kNodeArrays) check_node_values(data, label, array, findings);
  check_sum("/nodes/comp", data.comp, {}, findings);
  check_sum("/nodes/mem", data.mem, data.temp, findings);
  check_operations(data, label, findings);
  check_gradients(data, label, findings);
  check_alias_range(data, label, premises, findings);
  if (!premises.alias_range) return;
  const Array root = alias_roots(data, label, findings);
  check_residual_aliases(data, label, findings);
  check_references(data, label, root, findings);
  check_pins(data, label, findings);
}

void check_all_edges(const GraphData& data, const Labels& label, Premises& premises, Findings& findings) {
  check_row_pointers(data, premises, findings);
  check_targets(data, label, premises, findings);
  if (premises.edge_arrays) {
    check_edge_values(data, label, premises, "/edges/bytes", data.bytes, findings);
    check_edge_values(data, label, premises, "/edges/output", data.output, findings);
    check_sum("/edges/bytes", data.bytes, {}, findings);
  }
  if (!premises.row_pointers || !premises.targets) return;
  check_self_loops(data, label, premises, findings);
  check_cycles(data, label, findings);
}

}  // namespace

std::vector<Finding> check_graph(const GraphData& data, std::size_t limit) {
  Findings findings(limit);
  findings.begin_rule("/samples_per_step");
  if (data.samples_per_step < 1) {
    findings.add([&] { return fmt::format("{} is out of range, expected at least 1", data.samples_per_step); });
  }
  if (data.indptr.empty()) {
    findings.begin_rule("/edges/indptr");
    findings.add([] { return std::string("is empty, expected one more element than there are nodes"); });
    return findings.take();
  }
  Premises premises;
  check_lengths(data, premises, findings);
  if (premises.names) premises.names = check_own_names(data, findings);
  const Labels label{data, premises.names && !data.names.empty()};
  if (premises.node_arrays) check_all_nodes(data, label, premises, findings);
  check_all_edges(data, label, premises, findings);
  return findings.take();
}

}  // namespace pardnn
