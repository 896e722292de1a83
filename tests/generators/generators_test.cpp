#include "generators/generators.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "pardnn/error.hpp"
#include "pardnn/io.hpp"

namespace pardnn {
namespace {

GenerateOptions options_of(std::string_view kind, std::int64_t nodes) {
  GenerateOptions options;
  options.kind = kind;
  options.nodes = nodes;
  return options;
}

/// A file that is gone when the test ends.
class TemporaryFile {
 public:
  TemporaryFile()
      : path_((std::filesystem::path(testing::TempDir()) /
               (std::string("pardnn-generated-") + testing::UnitTest::GetInstance()->current_test_info()->name() + "-" +
                std::to_string(getpid()) + ".h5")).string()) {
    std::replace(path_.begin() + static_cast<std::ptrdiff_t>(testing::TempDir().size()), path_.end(), '/', '-');
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::vector<std::vector<std::int64_t>> predecessors(const GraphData& data) {
  std::vector<std::vector<std::int64_t>> before(static_cast<std::size_t>(data.num_nodes()));
  for (std::int64_t v = 0; v < data.num_nodes(); ++v) {
    for (std::int64_t e = data.indptr[v]; e < data.indptr[v + 1]; ++e) before[data.indices[e]].push_back(v);
  }
  return before;
}

bool is_backward(const GraphData& data, std::int64_t v) {
  const std::string& op = data.op_types[data.op[v]];
  return (op.size() > 5 && op.compare(op.size() - 5, 5, "_grad") == 0) || op == "add_n" || op == "accumulate";
}

class Generators : public testing::TestWithParam<std::string_view> {};

std::string kind_name(const testing::TestParamInfo<std::string_view>& info) { return std::string(info.param); }

INSTANTIATE_TEST_SUITE_P(Kinds, Generators, testing::ValuesIn(generator_kinds()), kind_name);

TEST_P(Generators, GraphsAreLegalAtEverySize) {
  for (const std::int64_t nodes : {300, 1'000, 5'000, 20'000}) {
    GenerateOptions options = options_of(GetParam(), nodes);
    options.names = true;
    const GraphData data = generate_in_memory(options);
    for (const Finding& finding : check_graph(data)) ADD_FAILURE() << nodes << ": " << finding.dataset << ": " << finding.message;
    EXPECT_EQ(data.num_nodes(), generated_nodes(options));
  }
}

TEST_P(Generators, NumbersAreTopological) {
  const GraphData data = generate_in_memory(options_of(GetParam(), 3'000));
  for (std::int64_t v = 0; v < data.num_nodes(); ++v) {
    for (std::int64_t e = data.indptr[v]; e < data.indptr[v + 1]; ++e) ASSERT_LT(v, data.indices[e]);
  }
}

TEST_P(Generators, SizesAreWithinAFewPercent) {
  for (const std::int64_t nodes : {1'000, 3'000, 10'000, 33'333, 100'000, 1'000'000, 10'000'000, 100'000'000}) {
    const double made = static_cast<double>(generated_nodes(options_of(GetParam(), nodes)));
    EXPECT_NEAR(made / static_cast<double>(nodes), 1.0, nodes < 10'000 ? 0.06 : 0.02) << nodes;
  }
}

TEST_P(Generators, SameOptionsGiveTheSameGraphAndAnotherSeedAnother) {
  GenerateOptions options = options_of(GetParam(), 2'000);
  GraphData first = generate_in_memory(options), second = generate_in_memory(options);
  options.seed = 2;
  GraphData other = generate_in_memory(options);
  merge_parallel_edges(first);
  merge_parallel_edges(second);
  merge_parallel_edges(other);
  EXPECT_EQ(fingerprint(first), fingerprint(second));
  EXPECT_NE(fingerprint(first), fingerprint(other));
}

TEST_P(Generators, FileHoldsTheGraphMadeInMemory) {
  for (const bool names : {false, true}) {
    GenerateOptions options = options_of(GetParam(), 5'000);
    options.names = names;
    const TemporaryFile file;
    generate(options, file.path());
    EXPECT_TRUE(validate_graph_file(file.path()).empty());
    const GraphData read = read_graph_data(file.path(), {true, true});
    const GraphData made = generate_in_memory(options);
    EXPECT_EQ(read.name, made.name);
    EXPECT_EQ(read.samples_per_step, made.samples_per_step);
    EXPECT_EQ(read.indptr, made.indptr);
    EXPECT_EQ(read.indices, made.indices);
    EXPECT_EQ(read.bytes, made.bytes);
    EXPECT_EQ(read.comp, made.comp);
    EXPECT_EQ(read.mem, made.mem);
    EXPECT_EQ(read.kind, made.kind);
    EXPECT_EQ(read.colocation, made.colocation);
    EXPECT_EQ(read.op, made.op);
    EXPECT_EQ(read.op_types, made.op_types);
    EXPECT_EQ(read.names.offsets, made.names.offsets);
    EXPECT_EQ(read.names.bytes, made.names.bytes);
  }
}

TEST_P(Generators, EveryVariableHasItsStateAndOneUpdateFedByItsGradient) {
  const GraphData data = generate_in_memory(options_of(GetParam(), 3'000));
  const auto before = predecessors(data);
  std::int64_t variables = 0;
  for (std::int64_t v = 0; v < data.num_nodes(); ++v) {
    if (data.op_types[data.op[v]] != "variable") continue;
    ++variables;
    ASSERT_EQ(data.kind[v], 1);
    std::vector<std::int64_t> updates;
    for (std::int64_t e = data.indptr[v]; e < data.indptr[v + 1]; ++e) {
      if (data.kind[data.indices[e]] == 2) updates.push_back(data.indices[e]);
    }
    ASSERT_EQ(updates.size(), 1u) << v;
    EXPECT_EQ(data.colocation[updates[0]], data.colocation[v]);
    std::int64_t gradients = 0, own_states = 0;
    for (const std::int64_t u : before[updates[0]]) {
      gradients += data.gradient_of[u] == v;
      own_states += data.kind[u] == 1 && u != v && data.colocation[u] == data.colocation[v];
    }
    EXPECT_EQ(gradients, 1) << v;
    EXPECT_GE(own_states, 1) << v;
  }
  EXPECT_GT(variables, 0);
  EXPECT_EQ(std::count_if(data.gradient_of.begin(), data.gradient_of.end(), [](auto r) { return r >= 0; }), variables);
  EXPECT_EQ(std::count(data.kind.begin(), data.kind.end(), 2), variables);
}

TEST_P(Generators, ActivationsLiveUntilTheBackwardPass) {
  const GraphData data = generate_in_memory(options_of(GetParam(), 3'000));
  std::int64_t forward = 0, kept = 0;
  for (std::int64_t v = 0; v < data.num_nodes(); ++v) {
    if (data.kind[v] != 0 || is_backward(data, v)) continue;
    ++forward;
    for (std::int64_t e = data.indptr[v]; e < data.indptr[v + 1]; ++e) {
      if (data.bytes[e] == 0 || data.kind[data.indices[e]] != 0 || !is_backward(data, data.indices[e])) continue;
      ++kept;
      break;
    }
  }
  EXPECT_GT(forward, 500);
  EXPECT_GT(kept, forward / 3);
}

/// Nothing is computed in vain except the gradients of a first time step's initial state, and every weight gradient depends on the loss.
TEST_P(Generators, OperationsLeadToAnUpdate) {
  const GraphData data = generate_in_memory(options_of(GetParam(), 3'000));
  std::vector<char> useful(static_cast<std::size_t>(data.num_nodes()), 0);
  std::int64_t useless = 0;
  for (std::int64_t v = data.num_nodes() - 1; v >= 0; --v) {
    useful[v] = data.kind[v] == 2;
    for (std::int64_t e = data.indptr[v]; e < data.indptr[v + 1]; ++e) useful[v] |= useful[data.indices[e]];
    useless += !useful[v];
  }
  EXPECT_LE(useless, GetParam() == "lstm" ? 200 : GetParam() == "random" ? data.num_nodes() / 4 : 0);
}

TEST(Generate, WhatIsAskedForIsMade) {
  GenerateOptions options = options_of("transformer", 1);
  options.layers = 3;
  options.micro_batches = 2;
  options.batch = 5;
  const GraphData data = generate_in_memory(options);
  EXPECT_EQ(data.samples_per_step, 10);
  EXPECT_EQ(data.name, "transformer-3x1024-mb2");
  std::int64_t blocks = 0;
  for (const std::int64_t op : data.op) blocks += data.op_types[op] == "gelu";
  EXPECT_EQ(blocks, 6);
}

TEST(Generate, LstmFeedsItsNextStep) {
  GenerateOptions options = options_of("lstm", 1);
  options.layers = 2;
  options.steps = 3;
  options.names = true;
  const GraphData data = generate_in_memory(options);
  std::set<std::string> readers;
  for (std::int64_t v = 0; v < data.num_nodes(); ++v) {
    if (data.names[v] != "step1/lstm1/hidden") continue;
    for (std::int64_t e = data.indptr[v]; e < data.indptr[v + 1]; ++e) readers.insert(std::string(data.names[data.indices[e]]));
  }
  EXPECT_EQ(readers, (std::set<std::string>{"step1/lstm2/input_product", "step1/lstm2/grad/input_product/weight",
                                            "step2/lstm1/hidden_product", "step2/lstm1/grad/hidden_product/weight"}));
}

TEST(Generate, RefusesWhatItCannotMake) {
  EXPECT_THROW(generated_nodes(options_of("mpl", 1'000)), InputError);
  EXPECT_THROW(generated_nodes(options_of("mlp", 0)), InputError);
  EXPECT_THROW(generated_nodes(options_of("mlp", -5)), InputError);
  EXPECT_THROW(generated_nodes(options_of("mlp", kGreatestGeneratedGraph + 1)), InputError);
  EXPECT_THROW(generated_nodes(options_of("transformer", 20)), InputError);
  GenerateOptions options = options_of("mlp", 1'000);
  options.steps = 3;
  EXPECT_THROW(generated_nodes(options), InputError) << "an MLP has no time steps";
  options.steps = 0;
  options.layers = 100'000'000;
  options.micro_batches = 1'000'000;
  EXPECT_THROW(generated_nodes(options), InputError);
}

TEST(Generate, MillionNodesStreamInBoundedMemory) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer keeps freed memory";
#endif
  const TemporaryFile file;
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  generate(options_of("transformer", 1'000'000), file.path());
  getrusage(RUSAGE_SELF, &after);
  // In memory the same graph takes more than 130 MB.
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 * 1024) << "KiB more than before";
  EXPECT_GT(std::filesystem::file_size(file.path()), 1'000'000u);
}

}  // namespace
}  // namespace pardnn
