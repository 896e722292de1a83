// Every rule of graph-format.md: one graph that keeps all of them, and for each rule a change that breaks it.
#include "graph/graph_checks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "pardnn/graph.hpp"

namespace pardnn {
namespace {

void set_names(GraphData& data, const std::vector<std::string>& names) {
  data.names = {};
  data.names.offsets.push_back(0);
  for (const std::string& name : names) {
    data.names.bytes.insert(data.names.bytes.end(), name.begin(), name.end());
    data.names.offsets.push_back(static_cast<std::int64_t>(data.names.bytes.size()));
  }
}

//   0 weight ----> 1 a ----> 2 b ----> 3 grad ----> 4 update
//   residual,                alias     gradient     reference,
//   group 7                  of a      of weight    group 7
GraphData legal_graph() {
  GraphData data;
  data.indptr = {0, 1, 2, 3, 4, 4};
  data.indices = {1, 2, 3, 4};
  data.bytes = {100, 50, 50, 100};
  data.output = {0, 0, 0, 1};
  data.comp = {0, 10, 5, 20, 7};
  data.mem = {100, 50, 0, 100, 0};
  data.temp = {0, 8, 0, 0, 0};
  data.kind = {1, 0, 0, 0, 2};
  data.colocation = {7, -1, -1, -1, 7};
  data.alias = {-1, -1, 1, -1, -1};
  data.fixed = {1, -1, -1, -1, -1};
  data.gradient_of = {-1, -1, -1, 0, -1};
  data.op = {0, 1, 1, 1, 0};
  data.op_types = {"variable", "matmul"};
  set_names(data, {"weight", "a", "b", "grad", "update"});
  return data;
}

struct Rule {
  const char* name;
  std::function<void(GraphData&)> break_it;
  const char* dataset;
  const char* message;
};

void PrintTo(const Rule& rule, std::ostream* out) { *out << rule.name; }

class GraphRule : public testing::TestWithParam<Rule> {};

TEST_P(GraphRule, BrokenIsFoundWithDatasetAndOffender) {
  GraphData data = legal_graph();
  GetParam().break_it(data);
  const std::vector<Finding> all = check_graph(data);
  const bool found = std::any_of(all.begin(), all.end(), [](const Finding& finding) {
    return finding.dataset == GetParam().dataset && finding.message.find(GetParam().message) != std::string::npos;
  });
  std::string text;
  for (const Finding& finding : all) text += to_line(finding) + "\n";
  EXPECT_TRUE(found) << "expected " << GetParam().dataset << ": " << GetParam().message << ", found\n" << text;
  EXPECT_EQ(check_graph(data, 1).size(), 1U);
}

constexpr std::int64_t kHalf = kSumLimit / 2;

const Rule kRules[] = {
    {"indptr_empty", [](GraphData& g) { g.indptr.clear(); }, "/edges/indptr", "is empty"},
    {"indptr_start", [](GraphData& g) { g.indptr[0] = 1; }, "/edges/indptr", "row pointer of row 0 is 1, expected 0"},
    {"indptr_falls", [](GraphData& g) { g.indptr[2] = 0; }, "/edges/indptr", "row pointer overflow at row 1: indptr[1] = 1 is followed by indptr[2] = 0"},
    {"indptr_negative", [](GraphData& g) { g.indptr[3] = -2147483648; }, "/edges/indptr", "row pointer overflow at row 2"},
    {"indptr_end", [](GraphData& g) { g.indptr[5] = 5; }, "/edges/indptr", "last row pointer is 5, expected 4"},
    {"target_high", [](GraphData& g) { g.indices[1] = 5; }, "/edges/indices", "row 1, node 1 'a', position 1: node 5 is out of range, expected 0 to 4"},
    {"target_negative", [](GraphData& g) { g.indices[3] = -1; }, "/edges/indices", "position 3: node -1 is out of range"},
    {"self_loop", [](GraphData& g) { g.indices[2] = 2; }, "/edges/indices", "position 2: self loop"},
    {"cycle", [](GraphData& g) { g.indices[3] = 1; }, "/edges/indices", "cycle of 3 nodes: node 1 'a' -> node 2 'b' -> node 3 'grad' -> node 1 'a'"},
    {"bytes_length", [](GraphData& g) { g.bytes.pop_back(); }, "/edges/bytes", "has length 3, expected 4"},
    {"bytes_negative", [](GraphData& g) { g.bytes[2] = -4; }, "/edges/bytes", "position 2: -4 is negative"},
    {"bytes_sum", [](GraphData& g) { g.bytes = {kHalf, kHalf - 1, 1, 0}; }, "/edges/bytes", "the sum up to index 2 reaches 2^62"},
    {"output_length", [](GraphData& g) { g.output.push_back(0); }, "/edges/output", "has length 5, expected 4"},
    {"output_negative", [](GraphData& g) { g.output[0] = -1; }, "/edges/output", "-1 is negative"},
    {"comp_missing", [](GraphData& g) { g.comp.clear(); }, "/nodes/comp", "has length 0, expected 5"},
    {"comp_negative", [](GraphData& g) { g.comp[3] = -20; }, "/nodes/comp", "node 3 'grad': -20 is negative"},
    {"comp_sum", [](GraphData& g) { g.comp[4] = kSumLimit; }, "/nodes/comp", "the sum up to index 4 reaches 2^62"},
    {"comp_sum_of_greatest", [](GraphData& g) { g.comp = {INT64_MAX, INT64_MAX, INT64_MAX, 0, 0}; }, "/nodes/comp", "the sum up to index 0 reaches 2^62"},
    {"mem_negative", [](GraphData& g) { g.mem[1] = -1; }, "/nodes/mem", "node 1 'a': -1 is negative"},
    {"mem_temp_sum", [](GraphData& g) { g.mem = {kHalf, 0, 0, 0, 0}, g.temp = {0, 0, 0, kHalf, 0}; }, "/nodes/mem", "the sum up to index 3 reaches 2^62"},
    {"temp_length", [](GraphData& g) { g.temp.pop_back(); }, "/nodes/temp", "has length 4, expected 5"},
    {"temp_negative", [](GraphData& g) { g.temp[0] = -7; }, "/nodes/temp", "-7 is negative"},
    {"kind_unknown", [](GraphData& g) { g.kind[2] = 3; }, "/nodes/kind", "node 2 'b': unknown kind 3"},
    {"colocation_below", [](GraphData& g) { g.colocation[1] = -2; }, "/nodes/colocation", "-2 is below -1"},
    {"fixed_below", [](GraphData& g) { g.fixed[1] = -2; }, "/nodes/fixed", "-2 is below -1"},
    {"fixed_too_great", [](GraphData& g) { g.fixed[1] = std::int64_t{1} << 31; }, "/nodes/fixed", "2147483648 is too great"},
    {"alias_below", [](GraphData& g) { g.alias[1] = -5; }, "/nodes/alias", "-5 is below -1"},
    {"alias_range", [](GraphData& g) { g.alias[1] = 5; }, "/nodes/alias", "node 1 'a': node 5 is out of range, expected -1 to 4"},
    {"alias_cycle", [](GraphData& g) { g.alias[1] = 3, g.alias[3] = 2; }, "/nodes/alias", "alias cycle through node 1 'a'"},
    {"alias_of_itself", [](GraphData& g) { g.alias[3] = 3; }, "/nodes/alias", "alias cycle through node 3 'grad'"},
    {"residual_alias", [](GraphData& g) { g.alias[0] = 1; }, "/nodes/alias", "node 0 'weight': a residual may not be an alias"},
    {"reference_alone", [](GraphData& g) { g.colocation[4] = 8; }, "/nodes/kind", "node 4 'update': a reference node needs a residual in its colocation group or alias chain"},
    {"reference_without_groups", [](GraphData& g) { g.colocation.clear(); }, "/nodes/kind", "node 4 'update': a reference node needs a residual"},
    {"pins_of_group", [](GraphData& g) { g.fixed[4] = 2; }, "/nodes/fixed", "node 0 'weight' is pinned to device 1 and node 4 'update' to device 2"},
    {"pins_of_alias_in_group", [](GraphData& g) { g.colocation[2] = 7, g.fixed[1] = 0; }, "/nodes/fixed", "node 0 'weight' is pinned to device 1 and node 1 'a' to device 0"},
    {"gradient_range", [](GraphData& g) { g.gradient_of[3] = 9; }, "/nodes/gradient_of", "node 3 'grad': node 9 is out of range"},
    {"gradient_of_no_residual", [](GraphData& g) { g.gradient_of[3] = 1; }, "/nodes/gradient_of", "node 3 'grad': node 1 'a' is not a residual"},
    {"op_range", [](GraphData& g) { g.op[1] = 2; }, "/nodes/op", "operation type 2 is out of range, /op_types has 2"},
    {"op_negative", [](GraphData& g) { g.op[1] = -1; }, "/nodes/op", "operation type -1 is out of range"},
    {"samples", [](GraphData& g) { g.samples_per_step = 0; }, "/samples_per_step", "0 is out of range, expected at least 1"},
    {"name_count", [](GraphData& g) { set_names(g, {"a", "b"}); }, "/nodes/name_offsets", "has length 3, expected 6"},
    {"name_offsets_start", [](GraphData& g) { g.names.offsets[0] = 1; }, "/nodes/name_offsets", "offset of node 0 is 1, expected 0"},
    {"name_offsets_fall", [](GraphData& g) { g.names.offsets[2] = 2; }, "/nodes/name_offsets", "node 1: offset 6 is followed by 2"},
    {"name_offsets_end", [](GraphData& g) { g.names.bytes.push_back('x'); }, "/nodes/name_offsets", "last offset is 18, expected 19"},
    {"name_empty", [](GraphData& g) { set_names(g, {"weight", "", "b", "c", "d"}); }, "/nodes/name_bytes", "node 1: empty name"},
    {"name_twice", [](GraphData& g) { set_names(g, {"weight", "b", "c", "b", "d"}); }, "/nodes/name_bytes", "nodes 1 and 3 have the same name b"},
    {"name_cut_utf8", [](GraphData& g) { set_names(g, {"weight", "a\xC3", "b", "c", "d"}); }, "/nodes/name_bytes", "node 1: name is not valid UTF-8 at byte 1"},
    {"name_escape_code", [](GraphData& g) { set_names(g, {"\x1B[31mred", "a", "b", "c", "d"}); }, "/nodes/name_bytes", "control character U+001B at byte 0"},
    {"name_newline", [](GraphData& g) { set_names(g, {"two\nlines", "a", "b", "c", "d"}); }, "/nodes/name_bytes", "control character U+000A at byte 3"},
    {"name_tab", [](GraphData& g) { set_names(g, {"a\tb", "a", "b", "c", "d"}); }, "/nodes/name_bytes", "control character U+0009"},
    {"name_delete", [](GraphData& g) { set_names(g, {"a\x7F", "a", "b", "c", "d"}); }, "/nodes/name_bytes", "control character U+007F"},
    {"name_c1", [](GraphData& g) { set_names(g, {"a\xC2\x9B", "a", "b", "c", "d"}); }, "/nodes/name_bytes", "control character U+009B"},
};

INSTANTIATE_TEST_SUITE_P(All, GraphRule, testing::ValuesIn(kRules), [](const auto& rule) { return std::string(rule.param.name); });

TEST(GraphChecks, LegalGraphHasNoFindings) { EXPECT_TRUE(check_graph(legal_graph()).empty()); }

TEST(GraphChecks, EmptyGraphIsLegal) { EXPECT_TRUE(check_graph(GraphData{}).empty()); }

TEST(GraphChecks, IsolatedNodesAndParallelEdgesAreLegal) {
  GraphData data;
  data.indptr = {0, 2, 2, 2};
  data.indices = {1, 1};
  data.bytes = {3, 4};
  data.comp = data.mem = {1, 1, 1};
  EXPECT_TRUE(check_graph(data).empty());
}

TEST(GraphChecks, SumsOneBelowTheLimitAreLegal) {
  GraphData data = legal_graph();
  data.comp = {kHalf, kHalf - 1, 0, 0, 0};
  data.bytes = {kSumLimit - 1, 0, 0, 0};
  data.mem = {kSumLimit - 1, 0, 0, 0, 0};
  data.temp.clear();
  EXPECT_TRUE(check_graph(data).empty());
}

TEST(GraphChecks, ReferenceAtTheEndOfAnAliasChainToAResidualIsLegal) {
  GraphData data = legal_graph();
  data.alias[2] = -1;
  data.colocation[4] = -1;
  data.kind[3] = 2;
  data.alias[3] = 0;
  data.alias[4] = 3;
  EXPECT_TRUE(check_graph(data).empty());
}

TEST(GraphChecks, MarkupInNamesIsLegalAndShownAsItIs) {
  GraphData data = legal_graph();
  set_names(data, {"<script>alert(1)</script>", "a&amp;\"b'", "..\\..", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"});
  EXPECT_TRUE(check_graph(data).empty());
}

TEST(GraphChecks, EveryRuleIsListedAtOnce) {
  GraphData data = legal_graph();
  data.comp[0] = -1;
  data.bytes[0] = -1;
  data.kind[1] = 9;
  data.indices[1] = 77;
  const std::vector<Finding> all = check_graph(data);
  std::vector<std::string> datasets;
  for (const Finding& finding : all) datasets.push_back(finding.dataset);
  for (const char* dataset : {"/nodes/comp", "/edges/bytes", "/nodes/kind", "/edges/indices"}) {
    EXPECT_NE(std::find(datasets.begin(), datasets.end(), dataset), datasets.end()) << dataset;
  }
}

TEST(GraphChecks, ManyOffencesOfOneRuleAreAHandfulAndACount) {
  GraphData data;
  data.indptr.assign(101, 0);
  data.comp.assign(100, -1);
  data.mem.assign(100, 0);
  const std::vector<Finding> all = check_graph(data);
  ASSERT_EQ(all.size(), 6U);
  EXPECT_EQ(all.back().message, "and 95 more like these");
}

TEST(GraphChecks, LongCycleIsCutShort) {
  GraphData data;
  constexpr std::int64_t kNodes = 1000;
  for (std::int64_t n = 0; n < kNodes; ++n) {
    data.indptr.push_back(n + 1);
    data.indices.push_back((n + 1) % kNodes);
  }
  data.bytes.assign(kNodes, 1);
  data.comp.assign(kNodes, 1);
  data.mem.assign(kNodes, 1);
  const std::vector<Finding> all = check_graph(data);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].message,
            "cycle of 1000 nodes: node 0 -> node 1 -> node 2 -> node 3 -> node 4 -> node 5 -> node 6 -> node 7 -> ... -> node 0");
}

// A27 of the user reports: no recursion over the graph, here with every edge against the file's order.
TEST(GraphChecks, LongChainAgainstTheFileOrderIsLegal) {
  GraphData data;
  constexpr std::int64_t kNodes = 1'000'000;
  data.indptr.push_back(0);
  for (std::int64_t n = 1; n < kNodes; ++n) {
    data.indptr.push_back(n);
    data.indices.push_back(n - 1);
  }
  data.bytes.assign(kNodes - 1, 1);
  data.comp.assign(kNodes, 1);
  data.mem.assign(kNodes, 1);
  data.alias.resize(kNodes);
  for (std::int64_t n = 0; n < kNodes; ++n) data.alias[n] = n + 1 < kNodes ? n + 1 : -1;
  EXPECT_TRUE(check_graph(data).empty());
}

TEST(GraphChecks, NamesAreReadInBlocksAndRepeatsFarApartAreFound) {
  constexpr std::int64_t kNodes = 3;
  const std::string filler(std::size_t{6} << 20, 'x');  // longer than a block
  const std::string bytes = "same" + filler + "same";
  const std::vector<std::int64_t> offsets{0, 4, 4 + static_cast<std::int64_t>(filler.size()), static_cast<std::int64_t>(bytes.size())};
  std::int64_t longest = 0;
  Findings findings(0);
  check_names(offsets, offsets.back(), [&](std::int64_t first, std::int64_t last) {
    longest = std::max(longest, last - first);
    return std::string_view(bytes).substr(offsets[first], offsets[last] - offsets[first]);
  }, findings);
  const std::vector<Finding> all = findings.take();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].message, "nodes 0 and 2 have the same name same");
  EXPECT_LT(longest, kNodes);
}

TEST(GraphChecks, NameFaultsFollowRfc3629) {
  EXPECT_EQ(name_fault("plain/name:0"), "");
  EXPECT_EQ(name_fault("\xF4\x8F\xBF\xBF"), "");                            // U+10FFFF
  for (const char* wrong : {"\xC0\x80", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xFF", "\x80", "\xE2\x82"}) {
    EXPECT_NE(name_fault(wrong).find("not valid UTF-8"), std::string::npos);
  }
}

}  // namespace
}  // namespace pardnn
