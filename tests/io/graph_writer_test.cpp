// Writing graph files: whole, streamed, and when the disk fails. Rows C14, C16, C20 of the user reports.
#include "io/graph_writer.hpp"

#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "files.hpp"
#include "pardnn/io.hpp"

namespace pardnn::test {
namespace {

constexpr ReadParts kAll{.names = true, .operations = true};
using Values = std::vector<std::int64_t>;

/// Bytes of one element of a dataset as it is stored, 0 if there is no such dataset.
std::size_t stored_width(const std::string& file, const char* path) {
  const hid_t id = must(H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT));
  std::size_t width = 0;
  if (H5Lexists(id, path, H5P_DEFAULT) > 0) {
    const hid_t dataset = must(H5Dopen2(id, path, H5P_DEFAULT)), type = must(H5Dget_type(dataset));
    width = H5Tget_size(type);
    H5Tclose(type);
    H5Dclose(dataset);
  }
  H5Fclose(id);
  return width;
}

TEST(GraphWriter, WhatIsWrittenReadsBackEqual) {
  const TempFolder folder;
  five_nodes().write(folder / "in.h5");
  GraphData data = read_graph_data(folder / "in.h5", kAll);
  data.op = {0, 1, 1, 1, 0};
  data.op_types = {"variable", "matmul<\xE2\x82\xAC>"};
  data.producer = "a test";
  data.samples_per_step = 32;
  write_graph_data(folder / "out.h5", data);
  const GraphData back = read_graph_data(folder / "out.h5", kAll);
  EXPECT_EQ(back.name, "five nodes");
  EXPECT_EQ(back.producer, "a test");
  EXPECT_EQ(back.samples_per_step, 32);
  EXPECT_EQ(back.indptr, data.indptr);
  EXPECT_EQ(back.indices, data.indices);
  EXPECT_EQ(back.bytes, data.bytes);
  EXPECT_EQ(back.output, data.output);
  EXPECT_EQ(back.comp, data.comp);
  EXPECT_EQ(back.mem, data.mem);
  EXPECT_EQ(back.temp, data.temp);
  EXPECT_EQ(back.kind, data.kind);
  EXPECT_EQ(back.colocation, data.colocation);
  EXPECT_EQ(back.alias, data.alias);
  EXPECT_EQ(back.fixed, data.fixed);
  EXPECT_EQ(back.gradient_of, data.gradient_of);
  EXPECT_EQ(back.names.offsets, data.names.offsets);
  EXPECT_EQ(back.names.bytes, data.names.bytes);
  EXPECT_EQ(back.op, data.op);
  EXPECT_EQ(back.op_types, data.op_types);
}

TEST(GraphWriter, EmptyGraphReadsBack) {
  const TempFolder folder;
  write_graph_data(folder / "empty.h5", GraphData{});
  EXPECT_EQ(read_graph_data(folder / "empty.h5", kAll).num_nodes(), 0);
}

TEST(GraphWriter, EveryCapturedGraphReadsBackWithItsFingerprint) {
  const TempFolder folder;
  for (const auto& entry : std::filesystem::directory_iterator(PARDNN_TEST_DATA)) {
    if (entry.path().extension() != ".h5") continue;
    GraphData data = read_graph_data(entry.path().string(), kAll);
    write_graph_data(folder / "out.h5", data);
    GraphData back = read_graph_data(folder / "out.h5", kAll);
    EXPECT_EQ(back.names.bytes, data.names.bytes);
    EXPECT_EQ(back.gradient_of, data.gradient_of);
    merge_parallel_edges(data);
    merge_parallel_edges(back);
    EXPECT_EQ(fingerprint(back), fingerprint(data)) << entry.path();
  }
}

TEST(GraphWriter, DatasetsThatHoldOnlyDefaultsAreNotWritten) {
  const TempFolder folder;
  GraphData data;
  data.indptr = {0, 0, 0};
  data.comp = data.mem = {1, 2};
  data.temp = data.kind = {0, 0};
  data.alias = data.fixed = data.colocation = data.gradient_of = {-1, -1};
  write_graph_data(folder / "g.h5", data);
  for (const char* path : {"/nodes/temp", "/nodes/kind", "/nodes/alias", "/nodes/fixed", "/nodes/colocation", "/nodes/gradient_of", "/edges/output", "/nodes/name_bytes", "/nodes/op"}) {
    EXPECT_EQ(stored_width(folder / "g.h5", path), 0U) << path;
  }
}

TEST(GraphWriter, SmallestTypeThatFitsIsStored) {
  const TempFolder folder;
  GraphData data;
  data.indptr = {0, 0, 0};
  data.comp = {127, 0};
  data.mem = {128, 0};
  data.temp = {0, 40'000};
  data.colocation = {std::int64_t{1} << 31, -1};
  write_graph_data(folder / "g.h5", data);
  EXPECT_EQ(stored_width(folder / "g.h5", "/nodes/comp"), 1U);
  EXPECT_EQ(stored_width(folder / "g.h5", "/nodes/mem"), 2U);
  EXPECT_EQ(stored_width(folder / "g.h5", "/nodes/temp"), 4U);
  EXPECT_EQ(stored_width(folder / "g.h5", "/nodes/colocation"), 8U);
  EXPECT_EQ(read_graph_data(folder / "g.h5").colocation, data.colocation);
}

std::string node_name(std::int64_t n) {
  std::string name(1, 'n');
  name += std::to_string(n);
  return name;
}

/// Nodes in a chain, streamed in blocks of odd sizes; values grow from 8 to 64 bits on the way.
void stream_chain(const std::string& file, std::int64_t nodes, std::int64_t block) {
  GraphFileWriter writer(file, "chain", "test", 4);
  for (std::int64_t first = 0; first < nodes; first += block) {
    const std::int64_t last = std::min(first + block, nodes);
    Values comp, mem, kind, ends, degrees, targets, bytes, op;
    std::string names;
    for (std::int64_t n = first; n < last; ++n) {
      comp.push_back(n);
      mem.push_back(n < nodes / 2 ? n % 100 : (std::int64_t{1} << 40) + n);
      kind.push_back(n == nodes - 1 ? 1 : 0);
      names += node_name(n);
      ends.push_back(static_cast<std::int64_t>(names.size()));
      op.push_back(n % 2);
      degrees.push_back(n + 1 < nodes ? 1 : 0);
      if (n + 1 < nodes) {
        targets.push_back(n + 1);
        bytes.push_back(n * 3);
      }
    }
    NodeBlock node_block;
    node_block.comp = comp;
    node_block.mem = mem;
    node_block.kind = kind;
    node_block.op = op;
    node_block.name_ends = ends;
    node_block.name_bytes = names;
    writer.append_nodes(node_block);
    writer.append_edges({degrees, targets, bytes, {}});
  }
  EXPECT_EQ(writer.num_nodes(), nodes);
  EXPECT_EQ(writer.num_edges(), nodes - 1);
  writer.set_op_types({"even", "odd"});
  writer.finish();
}

TEST(GraphWriter, StreamOfBlocksIsTheWholeGraph) {
  const TempFolder folder;
  constexpr std::int64_t kNodes = 200'000;
  for (const std::int64_t block : {997, 65'536, 1'000'000}) {
    stream_chain(folder / "g.h5", kNodes, block);
    const GraphData data = read_graph_data(folder / "g.h5", kAll);
    ASSERT_EQ(data.num_nodes(), kNodes);
    ASSERT_EQ(data.num_edges(), kNodes - 1);
    bool right = data.samples_per_step == 4;
    for (std::int64_t n = 0; n < kNodes; ++n) {
      right &= data.comp[n] == n && data.mem[n] == (n < kNodes / 2 ? n % 100 : (std::int64_t{1} << 40) + n);
      right &= data.kind[n] == (n == kNodes - 1 ? 1 : 0) && data.names[n] == node_name(n) && data.op[n] == n % 2;
      if (n + 1 < kNodes) right &= data.indptr[n] == n && data.indices[n] == n + 1 && data.bytes[n] == n * 3;
    }
    EXPECT_TRUE(right) << block;
    EXPECT_EQ(stored_width(folder / "g.h5", "/nodes/comp"), 4U);
    EXPECT_EQ(stored_width(folder / "g.h5", "/nodes/mem"), 8U);
  }
}

// C16 on the writing side.
TEST(GraphWriter, PiecesOfAnySizeGiveTheSameFile) {
  const TempFolder folder;
  stream_chain(folder / "whole.h5", 3'000, 100);
  for (const char* bytes : {"8", "799", "800", "801"}) {
    setenv("PARDNN_IO_CHUNK", bytes, 1);
    stream_chain(folder / "pieces.h5", 3'000, 100);
    unsetenv("PARDNN_IO_CHUNK");
    const GraphData whole = read_graph_data(folder / "whole.h5", kAll), pieces = read_graph_data(folder / "pieces.h5", kAll);
    EXPECT_EQ(whole.mem, pieces.mem);
    EXPECT_EQ(whole.names.bytes, pieces.names.bytes);
    EXPECT_EQ(whole.indptr, pieces.indptr);
  }
}

TEST(GraphWriter, SameContentIsTheSameBytes) {
  const TempFolder folder;
  stream_chain(folder / "a.h5", 2'000, 2'000);
  stream_chain(folder / "b.h5", 2'000, 2'000);
  EXPECT_EQ(slurp(folder / "a.h5"), slurp(folder / "b.h5"));
}

// C20
TEST(GraphWriter, SameFileIsWrittenTwiceInOneProcess) {
  const TempFolder folder;
  stream_chain(folder / "g.h5", 100, 10);
  stream_chain(folder / "g.h5", 200, 10);
  EXPECT_EQ(read_graph_data(folder / "g.h5").num_nodes(), 200);
  EXPECT_EQ(folder.content(), std::vector<std::string>{"g.h5"});
}

TEST(GraphWriter, UnfinishedWriterLeavesNothingBehind) {
  const TempFolder folder;
  spill(folder / "g.h5", "old");
  {
    GraphFileWriter writer(folder / "g.h5", "", "");
    const Values one{1};
    NodeBlock block;
    block.comp = one;
    block.mem = one;
    writer.append_nodes(block);
  }
  EXPECT_EQ(slurp(folder / "g.h5"), "old");
  EXPECT_EQ(folder.content(), std::vector<std::string>{"g.h5"});
}

TEST(GraphWriter, WrongUseIsRefused) {
  const TempFolder folder;
  const Values one{1}, two{1, 1};
  GraphFileWriter writer(folder / "g.h5", "", "");
  NodeBlock block;
  block.comp = one;
  block.mem = two;
  EXPECT_THROW(writer.append_nodes(block), std::invalid_argument);
  block.mem = one;
  block.temp = two;
  EXPECT_THROW(writer.append_nodes(block), std::invalid_argument);
  EXPECT_THROW(writer.append_edges({one, two, two, {}}), std::invalid_argument);
  EXPECT_THROW(writer.append_edges({one, one, two, {}}), std::invalid_argument);
  block.temp = {};
  writer.append_nodes(block);
  EXPECT_THROW(writer.finish(), std::invalid_argument);  // a node without a row
  EXPECT_FALSE(std::filesystem::exists(folder / "g.h5"));
}

TEST(GraphWriter, LongNameOfAGraphIsKept) {
  const TempFolder folder;
  GraphData data;
  data.name = std::string(100'000, 'n');
  write_graph_data(folder / "g.h5", data);
  EXPECT_EQ(read_graph_data(folder / "g.h5").name, data.name);
}

// A full disk, played by a limit on the size of files: the cause is said, the old file stays, nothing is left behind.
TEST(GraphWriter, FullDiskIsASystemErrorAndKeepsTheOldFile) {
  const TempFolder folder;
  const std::string path = folder / "g.h5";
  stream_chain(path, 100, 10);
  const std::string before = slurp(path);
  const auto child = [&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100'000, 100'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::string text = system_error([&] { stream_chain(path, 400'000, 50'000); });
    std::fprintf(stderr, "%s\n", text.c_str());
    std::exit(text.find(path + ": cannot be written: File too large") == 0 ? 0 : 1);
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "File too large");
  EXPECT_EQ(slurp(path), before);
  EXPECT_EQ(folder.content(), std::vector<std::string>{"g.h5"});
}

// The same where only the last bytes do not fit, which HDF5 writes when the file is closed.
TEST(GraphWriter, DiskThatIsFullAtTheEndIsASystemErrorToo) {
  const TempFolder folder;
  const std::string path = folder / "g.h5";
  const auto child = [&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{3'000, 3'000};
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::string text = system_error([&] { stream_chain(path, 100, 10); });
    std::exit(text.find(path + ": cannot be written") == 0 ? 0 : 1);
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "^$");
  EXPECT_TRUE(folder.content().empty());
}

TEST(GraphWriter, UnknownExtensionIsRefused) {
  const TempFolder folder;
  EXPECT_SAYS(input_error([&] { write_graph_data(folder / "g.txt", GraphData{}); }), "g.txt: graphs are written as .h5, .json or .dot");
  EXPECT_TRUE(folder.content().empty());
}

}  // namespace
}  // namespace pardnn::test
