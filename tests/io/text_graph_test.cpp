// Graphs that people write: JSON and Graphviz DOT.
#include "io/text_graph.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>

#include "files.hpp"
#include "pardnn/io.hpp"

namespace pardnn::test {
namespace {

constexpr ReadParts kAll{.names = true, .operations = true};
using Values = std::vector<std::int64_t>;

class TextGraphTest : public testing::Test {
 protected:
  GraphData read(const std::string& name, const std::string& text) {
    spill(folder_ / name, text);
    return read_graph_data(folder_ / name, kAll);
  }
  std::string fault(const std::string& name, const std::string& text) {
    const std::string line = input_error([&] { read(name, text); });
    EXPECT_EQ(line.substr(0, (folder_ / name).size() + 2), (folder_ / name) + ": ") << line;
    EXPECT_EQ(line.find('\n'), std::string::npos);
    return line;
  }
  std::vector<std::string> all_faults(const std::string& name, const std::string& text) {
    spill(folder_ / name, text);
    std::vector<std::string> lines;
    for (const Finding& finding : validate_graph_file(folder_ / name)) lines.push_back(finding.dataset + ": " + finding.message);
    return lines;
  }
  std::string json(const std::string& nodes, const std::string& edges = "[]") {
    return "{\"format\": \"pardnn-graph\", \"version\": 1, \"nodes\": " + nodes + ", \"edges\": " + edges + "}";
  }

  TempFolder folder_;
};

const char* const kJson = R"({
  "format": "pardnn-graph", "version": 1, "name": "hand-made", "producer": "me", "samples_per_step": 8,
  "nodes": [
    {"name": "w", "comp": 0, "mem": "1KiB", "kind": "residual", "colocation": "vars", "fixed": 1, "op": "variable"},
    {"name": "a", "comp": "5us", "mem": 7, "temp": "2kB"},
    {"name": "view", "comp": 1, "alias": "a", "colocation": 4},
    {"name": "grad", "comp": "1.5ms", "mem": 9, "gradient_of": "w"},
    {"name": "update", "comp": 3, "kind": "reference", "colocation": "vars", "op": "assign"}
  ],
  "edges": [
    {"from": "a", "to": "view", "bytes": 10},
    {"from": "w", "to": "a", "bytes": "1MB", "output": 2},
    {"from": "view", "to": "grad"},
    {"from": "a", "to": "grad", "bytes": 5},
    {"from": "grad", "to": "update", "bytes": 9}
  ]
})";

TEST_F(TextGraphTest, JsonReadsEveryField) {
  const GraphData data = read("g.json", kJson);
  EXPECT_EQ(data.name, "hand-made");
  EXPECT_EQ(data.producer, "me");
  EXPECT_EQ(data.samples_per_step, 8);
  EXPECT_EQ(data.indptr, (Values{0, 1, 3, 4, 5, 5}));
  EXPECT_EQ(data.indices, (Values{1, 2, 3, 3, 4}));
  EXPECT_EQ(data.bytes, (Values{1'000'000, 10, 5, 0, 9}));
  EXPECT_EQ(data.output, (Values{2, 0, 0, 0, 0}));
  EXPECT_EQ(data.comp, (Values{0, 5'000, 1, 1'500'000, 3}));
  EXPECT_EQ(data.mem, (Values{1'024, 7, 0, 9, 0}));
  EXPECT_EQ(data.temp, (Values{0, 2'000, 0, 0, 0}));
  EXPECT_EQ(data.kind, (Values{1, 0, 0, 0, 2}));
  EXPECT_EQ(data.colocation, (Values{5, -1, 4, -1, 5}));  // named groups are numbered above the others
  EXPECT_EQ(data.alias, (Values{-1, -1, 1, -1, -1}));
  EXPECT_EQ(data.fixed, (Values{1, -1, -1, -1, -1}));
  EXPECT_EQ(data.gradient_of, (Values{-1, -1, -1, 0, -1}));
  EXPECT_EQ(data.names[2], "view");
  EXPECT_EQ(data.op_types[static_cast<std::size_t>(data.op[0])], "variable");
  EXPECT_EQ(data.op_types[static_cast<std::size_t>(data.op[1])], "");
}

TEST_F(TextGraphTest, NamelessJsonNodesAreNumbers) {
  const GraphData data = read("g.json", json(R"([{"comp": 1}, {"comp": 2, "alias": 0}])", R"([{"from": 0, "to": 1, "bytes": 3}])"));
  EXPECT_TRUE(data.names.empty());
  EXPECT_EQ(data.indices, Values{1});
  EXPECT_EQ(data.alias, (Values{-1, 0}));
  EXPECT_SAYS(fault("g.json", json(R"([{"comp": 1}])", R"([{"from": 0, "to": 1}])")), "/edges/0/to: there is no node 1, expected 0 to 0");
}

TEST_F(TextGraphTest, EmptyGraphsAreLegal) {
  EXPECT_EQ(read("g.json", json("[]")).num_nodes(), 0);
  EXPECT_EQ(read("g.dot", "digraph {}").num_nodes(), 0);
}

TEST_F(TextGraphTest, NamesAndOperationsAreKeptOnlyIfAskedFor) {
  spill(folder_ / "g.json", kJson);
  const GraphData data = read_graph_data(folder_ / "g.json");
  EXPECT_TRUE(data.names.empty());
  EXPECT_TRUE(data.op.empty());
}

TEST_F(TextGraphTest, JsonFaultsNameTheirPlace) {
  EXPECT_SAYS(fault("g.json", "{\"format\": "), "not valid JSON at byte");
  EXPECT_SAYS(fault("g.json", "[1]"), "expected a JSON object with format 'pardnn-graph', found array");
  EXPECT_SAYS(fault("g.json", "{}"), "/format: expected 'pardnn-graph'");
  EXPECT_SAYS(fault("g.json", "{\"format\": \"pardnn-graph\", \"version\": 2, \"nodes\": []}"), "/version: expected 1");
  EXPECT_SAYS(fault("g.json", "{\"format\": \"pardnn-graph\", \"version\": 1}"), "/nodes: expected a list");
  EXPECT_SAYS(fault("g.json", json("[7]")), "/nodes/0: expected an object, found number");
  EXPECT_SAYS(fault("g.json", json("[{\"name\": \"a\", \"comp\": 1.5}]")), "/nodes/0/comp: 1.5 is not an integer");
  EXPECT_SAYS(fault("g.json", json("[{\"name\": \"a\", \"comp\": null}]")), "/nodes/0/comp: expected an integer or a text, found null");
  EXPECT_SAYS(fault("g.json", json("[{\"name\": \"a\", \"comp\": 18446744073709551615}]")), "/nodes/0/comp: 18446744073709551615 is above 2^63 - 1");
  EXPECT_SAYS(fault("g.json", json("[{\"name\": \"a\", \"comp\": \"5 parsecs\"}]")), "/nodes/0/comp: ");
  EXPECT_SAYS(fault("g.json", json("[{\"name\": \"a\", \"comp\": -5}]")), "/nodes/comp: node 0 'a': -5 is negative");
  EXPECT_SAYS(fault("g.json", json("[{\"name\": \"a\"}]")), "node 0 'a' has no 'comp'");
  EXPECT_SAYS(fault("g.json", json("[{\"name\": \"a\", \"comp\": 1, \"memm\": 1}]")), "/nodes/0/memm: unknown key, did you mean 'mem'?");
  EXPECT_SAYS(fault("g.json", json("[{\"name\": \"a\", \"comp\": 1, \"kind\": \"big\"}]")), "/nodes/0/kind: unknown kind 'big'");
  EXPECT_SAYS(fault("g.json", json("[{\"name\": \"a\", \"comp\": 1, \"alias\": \"b\"}]")), "/nodes/0/alias: there is no node 'b'");
  EXPECT_SAYS(fault("g.json", json("[{\"name\": \"a\", \"comp\": 1, \"alias\": 0}]")), "/nodes/0/alias: 0: expected the name of a node");
  EXPECT_SAYS(fault("g.json", json("[{\"name\": \"a\", \"comp\": 1}, {\"comp\": 1}]")), "/nodes/1/name: expected a text");
  EXPECT_SAYS(fault("g.json", json("[{\"name\": \"a\", \"comp\": 1}, {\"name\": \"a\", \"comp\": 1}]")), "nodes 0 and 1 have the same name a");
  EXPECT_SAYS(fault("g.json", json("[{\"name\": \"a\", \"comp\": 1, \"comp\": 2}]")), "the key 'comp' stands twice");
  EXPECT_SAYS(fault("g.json", json("[{\"name\": \"a\", \"comp\": 1}]", "[{\"from\": \"a\", \"to\": \"b\"}]")), "/edges/0/to: there is no node \\x22b\\x22");
  EXPECT_SAYS(fault("g.json", json("[{\"name\": \"a\", \"comp\": 1}]", "[{\"to\": \"a\"}]")), "/edges/0/from: is missing");
  EXPECT_SAYS(fault("g.json", json("[{\"name\": \"a\", \"comp\": 1}]", "[{\"from\": \"a\", \"to\": \"a\"}]")), "self loop");
  EXPECT_SAYS(fault("g.json", json("[{\"name\": \"a\", \"comp\": 1}]", "7")), "/edges: expected a list");
  EXPECT_SAYS(fault("g.json", json("[{\"name\": \"a\\u001b[2J\", \"comp\": 1}]")), "control character U+001B");
}

TEST_F(TextGraphTest, ValidateListsEveryFaultOfAText) {
  const std::vector<std::string> lines = all_faults("g.json", json(R"([{"name": "a", "comp": -1}, {"name": "b", "kind": 7}])", R"([{"from": "a", "to": "c"}])"));
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_SAYS(lines[0], "/edges/0/to: there is no node");
  EXPECT_SAYS(lines[1], "node 1 'b' has no 'comp'");
  EXPECT_SAYS(lines[2], "/nodes/comp: node 0 'a': -1 is negative");
  EXPECT_SAYS(lines[3], "/nodes/kind: node 1 'b': unknown kind 7");
}

TEST_F(TextGraphTest, DeepTextsDoNotOverflowTheStack) {
  EXPECT_SAYS(fault("g.json", std::string(1'000'000, '[')), "more than 64 deep");
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  EXPECT_SAYS(fault("g.json", deep), "more than 64 deep");
  EXPECT_SAYS(fault("g.json", json("[{\"name\": \"a\", \"comp\": 1}]", "[{\"from\": " + deep + ", \"to\": \"a\"}]")), "more than 64 deep");
  std::string dot = "digraph ";
  for (int i = 0; i < 200'000; ++i) dot += "{";
  EXPECT_SAYS(fault("g.dot", dot), "line 1: subgraphs nested more than 1000 deep");
}

TEST_F(TextGraphTest, DotReadsStatementsDefaultsAndChains) {
  const GraphData data = read("g.dot", R"(
# made by hand
strict digraph "a graph" {
  graph [samples_per_step=4, rankdir=LR]; producer = me
  node [comp=10 shape=box]   // a default
  edge [bytes="1KiB"];
  "w 1" [comp=0, mem=100 kind=residual, colocation=vars];
  /* a chain
     over two lines */
  "w 1" -> b:out:n -> "c\"d\\e" [bytes=7]
  subgraph cluster_0 { node [comp=20]; label="x"; x; y [mem="2kB"; alias=x] };
  b -> x; x -> y [color=red, output=1]
  up [kind=reference colocation=vars gradient_of="w 1", op="as" + "sign"]
}
)");
  EXPECT_EQ(data.name, "a graph");
  EXPECT_EQ(data.producer, "me");
  EXPECT_EQ(data.samples_per_step, 4);
  ASSERT_EQ(data.num_nodes(), 6);
  EXPECT_EQ(data.names[0], "w 1");
  EXPECT_EQ(data.names[2], "c\"d\\e");
  EXPECT_EQ(data.comp, (Values{0, 10, 10, 20, 20, 10}));
  EXPECT_EQ(data.mem, (Values{100, 0, 0, 0, 2'000, 0}));
  EXPECT_EQ(data.kind, (Values{1, 0, 0, 0, 0, 2}));
  EXPECT_EQ(data.colocation, (Values{0, -1, -1, -1, -1, 0}));
  EXPECT_EQ(data.alias, (Values{-1, -1, -1, -1, 3, -1}));
  EXPECT_EQ(data.gradient_of[5], 0);
  EXPECT_EQ(data.op_types[static_cast<std::size_t>(data.op[5])], "assign");
  EXPECT_EQ(data.indptr, (Values{0, 1, 3, 3, 4, 4, 4}));
  EXPECT_EQ(data.indices, (Values{1, 2, 3, 4}));
  EXPECT_EQ(data.bytes, (Values{7, 7, 1'024, 1'024}));
  EXPECT_EQ(data.output, (Values{0, 0, 0, 1}));
}

// Defaults that mean nothing here are not kept: many of them, many scopes and many nodes would multiply.
TEST_F(TextGraphTest, DotWithManyDefaultsIsReadInLinearTime) {
  std::string dot = "digraph {";
  for (int i = 0; i < 100'000; ++i) dot += fmt::format("node [a{}=1] edge [b{}=1] ", i, i);
  dot += "node [comp=3, mem=5] ";
  for (int i = 0; i < 100'000; ++i) dot += fmt::format("{{ n{} }} ", i);
  const auto begin = std::chrono::steady_clock::now();
  const GraphData data = read("g.dot", dot + "}");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
  EXPECT_EQ(data.comp, std::vector<std::int64_t>(100'000, 3));
  EXPECT_EQ(data.mem, std::vector<std::int64_t>(100'000, 5));
}

TEST_F(TextGraphTest, DotFaultsNameTheLine) {
  EXPECT_SAYS(fault("g.dot", "hello"), "line 1: expected 'digraph', found 'hello': not a graph in DOT");
  EXPECT_SAYS(fault("g.dot", ""), "line 1: expected 'digraph', found the end of the text");
  EXPECT_SAYS(fault("g.dot", "graph { a }"), "line 1: an undirected graph");
  EXPECT_SAYS(fault("g.dot", "digraph {\n a -- b }"), "line 2: undirected edge");
  EXPECT_SAYS(fault("g.dot", "digraph {\n a -> { b c } }"), "line 2: subgraphs as ends of edges are not supported");
  EXPECT_SAYS(fault("g.dot", "digraph {\n { a } -> b }"), "line 2: subgraphs as ends of edges are not supported");
  EXPECT_SAYS(fault("g.dot", "digraph {\n\n a [label=<b>] }"), "line 3: HTML-like names are not supported");
  EXPECT_SAYS(fault("g.dot", "digraph {\n a [comp=1 \n"), "line 3: expected the name of an attribute, found the end of the text");
  EXPECT_SAYS(fault("g.dot", "digraph { \"a }"), "line 1: quoted text without an end");
  EXPECT_SAYS(fault("g.dot", "digraph { /* a }"), "line 1: comment without an end");
  EXPECT_SAYS(fault("g.dot", "digraph { a [comp=1]; } digraph {}"), "line 1: expected nothing after the graph");
  EXPECT_SAYS(fault("g.dot", "digraph { a [comp=1]; "), "found the end of the text");
  EXPECT_SAYS(fault("g.dot", "digraph { a -> \x01 }"), "line 1: unexpected '\\x01'");
  EXPECT_SAYS(fault("g.dot", "digraph {\n a [comp=fast] }"), "line 2: ");
  EXPECT_SAYS(fault("g.dot", "digraph {\n a [comp=1 alias=b] }"), "line 2: there is no node 'b'");
  EXPECT_SAYS(fault("g.dot", "digraph {\n a }"), "node 0 'a' has no 'comp'");
  EXPECT_SAYS(fault("g.dot", "digraph { node [comp=1]; a -> b -> a }"), "cycle of 2 nodes");
  EXPECT_SAYS(fault("g.dot", "digraph { node [comp=1]; a -> b [output=-1] }"), "output -1 is negative");
}

GraphData awkward_graph() {
  GraphData data = parse_json_graph(kJson).data;
  data.name = "<script>\"x\"</script>\\";
  const std::vector<std::string> names{"w\\", "a\"b", "<i>&amp;</i>", "\xE2\x82\xAC -> {x}", "//no comment\\\\"};
  data.names = {};
  data.names.offsets.push_back(0);
  for (const std::string& name : names) {
    data.names.bytes.insert(data.names.bytes.end(), name.begin(), name.end());
    data.names.offsets.push_back(static_cast<std::int64_t>(data.names.bytes.size()));
  }
  return data;
}

TEST_F(TextGraphTest, AwkwardNamesSurviveEveryFormat) {
  const GraphData data = awkward_graph();
  for (const char* name : {"g.json", "g.dot", "g.gv", "g.h5"}) {
    SCOPED_TRACE(name);
    write_graph_data(folder_ / name, data);
    const GraphData back = read_graph_data(folder_ / name, kAll);
    EXPECT_EQ(back.name, data.name);
    EXPECT_EQ(back.names.bytes, data.names.bytes);
    EXPECT_EQ(back.names.offsets, data.names.offsets);
    EXPECT_EQ(back.samples_per_step, 8);
    EXPECT_EQ(back.gradient_of, data.gradient_of);
    EXPECT_EQ(fingerprint(back), fingerprint(data));
  }
}

TEST_F(TextGraphTest, CapturedGraphKeepsItsFingerprintThroughEveryFormat) {
  GraphData data = read_graph_data(std::string(PARDNN_TEST_DATA) + "/pt-unet-512.h5", kAll);
  for (const char* name : {"g.json", "g.dot", "g.h5"}) {
    write_graph_data(folder_ / name, data);
    GraphData back = read_graph_data(folder_ / name, kAll);
    EXPECT_EQ(back.names.bytes, data.names.bytes);
    merge_parallel_edges(back);
    GraphData merged = data;
    merge_parallel_edges(merged);
    EXPECT_EQ(fingerprint(back), fingerprint(merged)) << name;
  }
}

TEST_F(TextGraphTest, NamelessGraphIsWrittenWithNumbers) {
  GraphData data;
  data.indptr = {0, 1, 1};
  data.indices = {1};
  data.bytes = {3};
  data.comp = data.mem = {1, 2};
  write_graph_data(folder_ / "g.json", data);
  EXPECT_TRUE(read_graph_data(folder_ / "g.json", kAll).names.empty());
  write_graph_data(folder_ / "g.dot", data);
  EXPECT_EQ(read_graph_data(folder_ / "g.dot", kAll).names[1], "1");
}

// A9: a self loop is an error; the same edge three times is one edge, its bytes added.
TEST_F(TextGraphTest, ParallelEdgesAreLegalAndKeepTheirBytes) {
  GraphData data = read("g.json", json(R"([{"name": "a", "comp": 1}, {"name": "b", "comp": 1}])",
                                       R"([{"from": "a", "to": "b", "bytes": 1}, {"from": "a", "to": "b", "bytes": 2}, {"from": "a", "to": "b", "bytes": 4}])"));
  EXPECT_EQ(data.num_edges(), 3);
  merge_parallel_edges(data);
  EXPECT_EQ(data.bytes, Values{7});
}

// Byte flips in texts: an error in one line, or a graph.
TEST_F(TextGraphTest, DamagedTextsNeverCrash) {
  write_graph_data(folder_ / "w.dot", awkward_graph());
  const std::string dot = slurp(folder_ / "w.dot");
  std::uint64_t state = 88172645463325252U;
  const auto random = [&state] {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  };
  int refused = 0;
  for (int variant = 0; variant < 2'000; ++variant) {
    std::string damaged = variant % 2 == 0 ? std::string(kJson) : dot;
    for (std::uint64_t flips = 1 + random() % 4; flips > 0; --flips) damaged[random() % damaged.size()] = static_cast<char>(random());
    if (random() % 4 == 0) damaged.resize(random() % damaged.size());
    try {
      TextGraph graph = variant % 2 == 0 ? parse_json_graph(damaged) : parse_dot_graph(damaged);
      refused += !graph.findings.empty() || !check_graph(graph.data).empty() ? 1 : 0;
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1'000);
}

}  // namespace
}  // namespace pardnn::test
