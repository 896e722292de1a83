#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "core/nearest.hpp"
#include "io/json_text.hpp"
#include "io/name_index.hpp"
#include "io/text_file.hpp"
#include "io/text_graph.hpp"

namespace pardnn {

using Json = nlohmann::json;

namespace {

constexpr std::array<std::string_view, 7> kTopKeys{"format", "version", "name", "producer", "samples_per_step", "nodes", "edges"};
constexpr std::array<std::string_view, 10> kNodeKeys{"name", "comp", "mem", "temp", "kind", "colocation", "alias", "fixed", "gradient_of", "op"};
constexpr std::array<std::string_view, 4> kEdgeKeys{"from", "to", "bytes", "output"};

Json parse_tree(const std::string& text) {
  if (const std::string fault = check_json(text); !fault.empty()) throw InputError(fault);
  return Json::parse(text);
}

class JsonGraphReader {
 public:
  TextGraph read(const Json& tree) {
    read_head(tree);
    if (const Json* nodes = list(tree, "nodes", true)) read_nodes(*nodes);
    if (const Json* edges = list(tree, "edges", false)) read_edges(*edges);
    return builder_.finish();
  }

 private:
  void check_keys(const Json& object, std::span<const std::string_view> known, const std::string& place) {
    for (const auto& item : object.items()) {
      if (std::find(known.begin(), known.end(), item.key()) != known.end()) continue;
      builder_.complain(place + "/" + printable(item.key(), 40), fmt::format("unknown key, did you mean '{}'?", nearest(item.key(), known)));
    }
  }

  /// An integer or a text; anything else is a finding.
  std::optional<TextGraphBuilder::Value> value(const Json& given, const std::string& place) {
    if (given.is_string()) return given.get<std::string>();
    if (given.is_number_unsigned() && given.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX)) {
      builder_.complain(place, fmt::format("{} is above 2^63 - 1", given.get<std::uint64_t>()));
      return std::nullopt;
    }
    if (given.is_number_integer()) return given.get<std::int64_t>();
    builder_.complain(place, given.is_number() ? fmt::format("{} is not an integer (times are in ns, sizes in bytes; or write a text with a unit)", given.dump())
                                               : fmt::format("expected an integer or a text, found {}", given.type_name()));
    return std::nullopt;
  }

  void read_head(const Json& tree) {
    if (!tree.is_object()) throw InputError(fmt::format("expected a JSON object with format 'pardnn-graph', found {}", tree.type_name()));
    const auto format = tree.find("format");
    if (format == tree.end() || *format != "pardnn-graph") throw InputError("/format: expected 'pardnn-graph': not a graph in JSON");
    const auto version = tree.find("version");
    if (version == tree.end() || !version->is_number_integer() || *version != 1) builder_.complain("/version", "expected 1");
    check_keys(tree, kTopKeys, "");
    for (const char* key : {"name", "producer", "samples_per_step"}) {
      const auto given = tree.find(key);
      if (given == tree.end()) continue;
      const std::string place = fmt::format("/{}", key);
      if (const auto known = value(*given, place)) builder_.set_graph(key, *known, place);
    }
  }

  const Json* list(const Json& tree, const char* key, bool required) {
    const auto found = tree.find(key);
    if (found != tree.end() && found->is_array()) return &*found;
    if (found != tree.end() || required) builder_.complain(fmt::format("/{}", key), "expected a list");
    return nullptr;
  }

  void read_nodes(const Json& nodes) {
    const auto named = [](const Json& node) { return node.is_object() && node.contains("name"); };
    named_ = std::any_of(nodes.begin(), nodes.end(), named);
    std::int64_t i = 0;
    for (const Json& node : nodes) read_node(node, fmt::format("/nodes/{}", i++));
  }

  void read_node(const Json& node, const std::string& place) {
    const auto name = node.is_object() ? node.find("name") : node.end();
    const bool has_name = node.is_object() && name != node.end() && name->is_string();
    const std::int64_t n = named_ ? builder_.add_node(has_name ? name->get<std::string>() : std::string()) : builder_.add_nameless_node();
    if (!node.is_object()) return builder_.complain(place, fmt::format("expected an object, found {}", node.type_name()));
    if (named_ && !has_name) builder_.complain(place + "/name", "expected a text: either all nodes have a name or none");
    check_keys(node, kNodeKeys, place);
    for (const auto& item : node.items()) {
      if (item.key() == "name" || std::find(kNodeKeys.begin(), kNodeKeys.end(), item.key()) == kNodeKeys.end()) continue;
      const std::string where = place + "/" + item.key();
      if (const auto known = value(item.value(), where)) builder_.set(n, item.key(), *known, where);
    }
  }

  /// The node at one end of an edge, -1 with a finding if there is none.
  std::int64_t end_of(const Json& edge, const char* key, const std::string& place) {
    const auto given = edge.find(key);
    const std::string where = place + "/" + key;
    if (given == edge.end()) {
      builder_.complain(where, "is missing");
      return -1;
    }
    if (named_) {
      const std::int64_t n = given->is_string() ? builder_.find(given->get<std::string>()) : -1;
      if (n < 0) builder_.complain(where, fmt::format("there is no node {}", printable(given->dump(-1, ' ', false, Json::error_handler_t::replace))));
      return n;
    }
    const auto known = value(*given, where);
    const std::int64_t n = known ? builder_.integer_of(*known, where) : -1;
    if (known && (n < 0 || n >= builder_.num_nodes())) {
      builder_.complain(where, fmt::format("there is no node {}, expected 0 to {}", n, builder_.num_nodes() - 1));
      return -1;
    }
    return n;
  }

  void read_edges(const Json& edges) {
    std::int64_t i = 0;
    for (const Json& edge : edges) {
      const std::string place = fmt::format("/edges/{}", i++);
      if (edge.is_object()) {
        read_edge(edge, place);
      } else {
        builder_.complain(place, fmt::format("expected an object, found {}", edge.type_name()));
      }
    }
  }

  void read_edge(const Json& edge, const std::string& place) {
    check_keys(edge, kEdgeKeys, place);
    const std::int64_t from = end_of(edge, "from", place), to = end_of(edge, "to", place);
    std::int64_t bytes = 0, output = -1;
    if (const auto given = edge.find("bytes"); given != edge.end()) {
      if (const auto known = value(*given, place + "/bytes")) bytes = builder_.bytes_of(*known, place + "/bytes");
    }
    if (const auto given = edge.find("output"); given != edge.end()) {
      if (const auto known = value(*given, place + "/output")) output = builder_.integer_of(*known, place + "/output");
      if (output < 0) builder_.complain(place + "/output", "is negative");
    }
    if (from >= 0 && to >= 0) builder_.add_edge(from, to, bytes, output);
  }

  TextGraphBuilder builder_;
  bool named_ = false;
};

}  // namespace

TextGraph parse_json_graph(const std::string& text) { return JsonGraphReader().read(parse_tree(text)); }

// ---------------------------------------------------------------------------------------------------- writing

namespace {

/// A node as others refer to it: by name, or by index where there are none.
std::string reference_json(const GraphData& data, std::int64_t n) {
  return data.names.empty() ? std::to_string(n) : json_string(data.names[n]);
}

std::string node_json(const GraphData& data, std::int64_t n) {
  std::string text = data.names.empty() ? "{" : fmt::format("{{\"name\": {}, ", json_string(data.names[n]));
  text += fmt::format("\"comp\": {}, \"mem\": {}", data.comp[n], data.mem[n]);
  if (!data.temp.empty() && data.temp[n] != 0) text += fmt::format(", \"temp\": {}", data.temp[n]);
  if (!data.kind.empty() && data.kind[n] != 0) text += fmt::format(", \"kind\": \"{}\"", kind_name(data.kind[n]));
  if (!data.colocation.empty() && data.colocation[n] >= 0) text += fmt::format(", \"colocation\": {}", data.colocation[n]);
  if (!data.alias.empty() && data.alias[n] >= 0) text += fmt::format(", \"alias\": {}", reference_json(data, data.alias[n]));
  if (!data.fixed.empty() && data.fixed[n] >= 0) text += fmt::format(", \"fixed\": {}", data.fixed[n]);
  if (!data.gradient_of.empty() && data.gradient_of[n] >= 0) text += fmt::format(", \"gradient_of\": {}", reference_json(data, data.gradient_of[n]));
  if (!data.op.empty()) text += fmt::format(", \"op\": {}", json_string(data.op_types[data.op[n]]));
  return text + "}";
}

}  // namespace

void write_json_graph(const std::string& file, const std::string& shown, const GraphData& data) {
  TextWriter out(file, shown);
  out.append(fmt::format("{{\n  \"format\": \"pardnn-graph\",\n  \"version\": 1,\n  \"name\": {},\n  \"producer\": {},\n  \"samples_per_step\": {},\n  \"nodes\": [",
                         json_string(data.name), json_string(data.producer), data.samples_per_step));
  for (std::int64_t n = 0; n < data.num_nodes(); ++n) out.append(fmt::format("{}\n    {}", n == 0 ? "" : ",", node_json(data, n)));
  out.append(data.num_nodes() == 0 ? "],\n  \"edges\": [" : "\n  ],\n  \"edges\": [");
  for (std::int64_t n = 0; n < data.num_nodes(); ++n) {
    const std::string from = reference_json(data, n);
    for (std::int64_t e = data.indptr[n]; e < data.indptr[n + 1]; ++e) {
      const std::string output = data.output.empty() ? "" : fmt::format(", \"output\": {}", data.output[e]);
      out.append(fmt::format("{}\n    {{\"from\": {}, \"to\": {}, \"bytes\": {}{}}}", e == 0 ? "" : ",", from, reference_json(data, data.indices[e]), data.bytes[e], output));
    }
  }
  out.append(data.num_edges() == 0 ? "]\n}\n" : "\n  ]\n}\n");
  out.close();
}

}  // namespace pardnn
