// Reading graph files in HDF5: everything that is legal reads alike, everything else is one clear line.
// Rows A9, A30, A32, C1, C3, C4, C6, C8, C9, C12, C13, C14, C16 of the user reports.
#include "io/hdf5_graph.hpp"

#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstdlib>

#include "files.hpp"
#include "io/available_memory.hpp"
#include "pardnn/io.hpp"

namespace {
/// What the next flock() fails with; 0: it does its work.
int flock_error = 0;
}  // namespace

/// Stands before the C library's: HDF5 locks through this (C1: NFS, Lustre and DVS know no locks).
extern "C" int flock(int fd, int operation) {
  if (flock_error != 0) {
    errno = flock_error;
    return -1;
  }
  return static_cast<int>(syscall(SYS_flock, fd, operation));
}

/// Under AddressSanitizer: a damaged file makes HDF5 ask for terabytes, which is to fail as it does without.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }

namespace pardnn::test {
namespace {

/// While it lives, flock() fails with this error.
struct NoLocks {
  explicit NoLocks(int error) { flock_error = error; }
  ~NoLocks() { flock_error = 0; }
};

constexpr ReadParts kAll{.names = true, .operations = true};

class Hdf5Graph : public testing::Test {
 protected:
  void SetUp() override { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

  GraphData read(const GraphFile& file, ReadParts parts = kAll) {
    file.write(path_);
    return read_graph_data(path_, parts);
  }
  /// The InputError on reading, without "FILE: ", which it must start with.
  std::string fault(const GraphFile& file, ReadParts parts = kAll) {
    file.write(path_);
    return fault_of_file(parts);
  }
  std::string fault_of_file(ReadParts parts = kAll) {
    const std::string text = input_error([&] { read_graph_data(path_, parts); });
    EXPECT_EQ(text.substr(0, path_.size() + 2), path_ + ": ") << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
    return text.size() > path_.size() + 2 ? text.substr(path_.size() + 2) : text;
  }

  TempFolder folder_;
  std::string path_ = folder_ / "graph.h5";
};

void expect_five_nodes(const GraphData& data) {
  const GraphFile file = five_nodes();
  EXPECT_EQ(data.indptr, file.arrays.at("/edges/indptr"));
  EXPECT_EQ(data.indices, file.arrays.at("/edges/indices"));
  EXPECT_EQ(data.bytes, file.arrays.at("/edges/bytes"));
  EXPECT_EQ(data.output, file.arrays.at("/edges/output"));
  EXPECT_EQ(data.comp, file.arrays.at("/nodes/comp"));
  EXPECT_EQ(data.mem, file.arrays.at("/nodes/mem"));
  EXPECT_EQ(data.temp, file.arrays.at("/nodes/temp"));
  EXPECT_EQ(data.kind, file.arrays.at("/nodes/kind"));
  EXPECT_EQ(data.colocation, file.arrays.at("/nodes/colocation"));
  EXPECT_EQ(data.alias, file.arrays.at("/nodes/alias"));
  EXPECT_EQ(data.fixed, file.arrays.at("/nodes/fixed"));
  EXPECT_EQ(data.gradient_of, file.arrays.at("/nodes/gradient_of"));
}

TEST_F(Hdf5Graph, ReadsEveryDataset) {
  const GraphData data = read(five_nodes());
  expect_five_nodes(data);
  EXPECT_EQ(data.name, "five nodes");
  EXPECT_EQ(data.samples_per_step, 1);
  EXPECT_EQ(data.names[0], "weight");
  EXPECT_EQ(data.names[4], "update");
}

TEST_F(Hdf5Graph, OptionalDatasetsMayBeAbsent) {
  GraphFile file = five_nodes();
  for (const char* path : {"/edges/output", "/nodes/temp", "/nodes/kind", "/nodes/colocation", "/nodes/alias", "/nodes/fixed", "/nodes/gradient_of", "/nodes/name_offsets"}) {
    file.arrays.erase(path);
  }
  file.name_bytes.clear();
  const GraphData data = read(file);
  EXPECT_EQ(data.num_nodes(), 5);
  EXPECT_TRUE(data.kind.empty());
  EXPECT_TRUE(data.names.empty());
}

TEST_F(Hdf5Graph, EmptyGraphIsLegal) {
  GraphFile file;
  file.attributes = usual_attributes;
  file.arrays = {{"/edges/indptr", {0}}, {"/edges/indices", {}}, {"/edges/bytes", {}}, {"/nodes/comp", {}}, {"/nodes/mem", {}}};
  EXPECT_EQ(read(file).num_nodes(), 0);
}

TEST_F(Hdf5Graph, UnknownDatasetsAndAttributesAreIgnored) {
  GraphFile file = five_nodes();
  file.arrays["/nodes/of_the_future"] = {1, 2};
  file.also = [](hid_t id) { put_text(id, "of_the_future", "x"); };
  expect_five_nodes(read(file));
}

TEST_F(Hdf5Graph, NamesAreKeptOnlyIfAskedForButAlwaysChecked) {
  GraphFile file = five_nodes();
  EXPECT_TRUE(read(file, {}).names.empty());
  file.name_bytes[7] = '\x1B';
  EXPECT_SAYS(fault(file, {}), "/nodes/name_bytes: node 2: name has the control character U+001B");
  file = five_nodes();
  file.arrays["/nodes/name_offsets"] = {0, 6, 7, 8, 18};
  EXPECT_SAYS(fault(file, {}), "/nodes/name_offsets: has length 5, expected 6");
}

TEST_F(Hdf5Graph, ErrorsUseNamesEvenIfTheyAreNotKept) {
  GraphFile file = five_nodes();
  file.arrays["/nodes/comp"][3] = -1;
  EXPECT_SAYS(fault(file, {}), "/nodes/comp: node 3 'grad': -1 is negative");
}

// ---------------------------------------------------------------------------------------------------- types (C8, C9, A30)

TEST_F(Hdf5Graph, EveryIntegerTypeAndByteOrderReadsAlike) {
  for (const hid_t type : {H5T_STD_I8LE, H5T_STD_I16LE, H5T_STD_I32LE, H5T_STD_I64LE, H5T_STD_I8BE, H5T_STD_I16BE, H5T_STD_I32BE, H5T_STD_I64BE}) {
    GraphFile file = five_nodes();
    for (const auto& array : file.arrays) file.stored[array.first].type = type;
    SCOPED_TRACE(H5Tget_size(type));
    expect_five_nodes(read(file));
  }
  for (const hid_t type : {H5T_STD_U8LE, H5T_STD_U16LE, H5T_STD_U32LE, H5T_STD_U64LE, H5T_STD_U8BE, H5T_STD_U16BE, H5T_STD_U32BE, H5T_STD_U64BE}) {
    GraphFile file = five_nodes();
    for (const char* path : {"/edges/indptr", "/edges/indices", "/edges/bytes", "/nodes/comp", "/nodes/mem", "/nodes/kind", "/nodes/name_offsets"}) file.stored[path].type = type;
    SCOPED_TRACE(H5Tget_size(type));
    expect_five_nodes(read(file));
  }
}

TEST_F(Hdf5Graph, UnsignedValueThatHdf5WouldClampIsFound) {
  for (const hid_t type : {H5T_STD_U64LE, H5T_STD_U64BE}) {
    GraphFile file = five_nodes();
    file.arrays.erase("/nodes/comp");
    file.also = [type](hid_t id) {
      const std::vector<std::uint64_t> values{0, 10, std::uint64_t{1} << 63, 20, 7};
      GraphFile::put(id, "/nodes/comp", type, H5T_NATIVE_UINT64, {5}, values.data(), Stored{});
    };
    EXPECT_EQ(fault(file), "/nodes/comp: element 2 is 9223372036854775808, above 2^63 - 1");
  }
}

TEST_F(Hdf5Graph, GreatestSigned64BitValueIsReadExactly) {
  GraphFile file = five_nodes();
  file.arrays["/nodes/fixed"] = {-1, -1, -1, -1, -1};
  file.arrays["/nodes/colocation"] = {INT64_MAX, -1, -1, -1, INT64_MAX};
  file.stored["/nodes/colocation"].type = H5T_STD_I64BE;
  EXPECT_EQ(read(file).colocation[4], INT64_MAX);
}

TEST_F(Hdf5Graph, FloatsAreRefusedWithTheDatasetNamed) {
  for (const hid_t type : {H5T_IEEE_F64LE, H5T_IEEE_F64BE, H5T_IEEE_F32LE}) {
    GraphFile file = five_nodes();
    file.stored["/nodes/comp"].type = type;
    EXPECT_SAYS(fault(file), "/nodes/comp: holds floating-point numbers, expected integers");
  }
}

TEST_F(Hdf5Graph, OtherTypesAreRefusedWithTheDatasetNamed) {
  const hid_t wide = H5Tcopy(H5T_STD_I64LE);
  H5Tset_size(wide, 16);
  H5Tset_precision(wide, 128);
  GraphFile file = five_nodes();
  file.stored["/nodes/mem"].type = wide;
  EXPECT_SAYS(fault(file), "/nodes/mem: holds integers of more than 64 bits");
  H5Tclose(wide);

  file = five_nodes();
  file.stored["/nodes/mem"] = {.type = H5T_STD_B64LE, .properties = {}, .shape = {}, .unwritten = true};
  EXPECT_SAYS(fault(file), "/nodes/mem: holds bit fields, expected integers");
}

TEST_F(Hdf5Graph, OddPrecisionIsConverted) {
  const hid_t odd = H5Tcopy(H5T_STD_U32BE);
  H5Tset_precision(odd, 11);
  GraphFile file = five_nodes();
  file.stored["/nodes/mem"].type = odd;
  expect_five_nodes(read(file));
  H5Tclose(odd);
}

TEST_F(Hdf5Graph, RowPointersThatWrappedAt32BitsAreNamed) {
  GraphFile file = five_nodes();
  file.arrays["/edges/indptr"][3] = -2147483647;
  file.stored["/edges/indptr"].type = H5T_STD_I32LE;
  EXPECT_SAYS(fault(file), "/edges/indptr: row pointer overflow at row 2");
  file.arrays["/edges/indptr"] = {0, 1, 2, 3, 4, 3};
  EXPECT_SAYS(fault(file), "/edges/indptr: row pointer overflow at row 4");
}

// ---------------------------------------------------------------------------------------------------- storage

TEST_F(Hdf5Graph, EveryChunkingAndBuiltInFilterReadsAlike) {
  const std::vector<std::pair<const char*, std::function<void(hid_t)>>> filters{
      {"none", [](hid_t) {}},
      {"deflate", [](hid_t p) { H5Pset_deflate(p, 9); }},
      {"shuffle and deflate", [](hid_t p) { H5Pset_shuffle(p), H5Pset_deflate(p, 1); }},
      {"fletcher32", [](hid_t p) { H5Pset_fletcher32(p); }},
      {"nbit", [](hid_t p) { H5Pset_nbit(p); }},
      {"scale-offset", [](hid_t p) { H5Pset_scaleoffset(p, H5Z_SO_INT, 0); }},
      {"all", [](hid_t p) { H5Pset_scaleoffset(p, H5Z_SO_INT, 0), H5Pset_shuffle(p), H5Pset_deflate(p, 6), H5Pset_fletcher32(p); }},
      {"szip", [](hid_t p) {
         unsigned configuration = 0;
         if (H5Zfilter_avail(H5Z_FILTER_SZIP) > 0 && H5Zget_filter_info(H5Z_FILTER_SZIP, &configuration) >= 0 &&
             (configuration & H5Z_FILTER_CONFIG_ENCODE_ENABLED) != 0) {
           H5Pset_szip(p, H5_SZIP_NN_OPTION_MASK, 2);
         }
       }},
  };
  for (const auto& filter : filters) {
    for (const hsize_t chunk : {2, 3, 4}) {
      GraphFile file = five_nodes();
      for (const auto& array : file.arrays) file.stored[array.first] = {.chunk = chunk, .properties = filter.second, .shape = {}};
      SCOPED_TRACE(filter.first);
      expect_five_nodes(read(file));
    }
  }
}

TEST_F(Hdf5Graph, CompactStorageReadsAlike) {
  GraphFile file = five_nodes();
  for (const auto& array : file.arrays) file.stored[array.first].properties = [](hid_t p) { H5Pset_layout(p, H5D_COMPACT); };
  expect_five_nodes(read(file));
}

TEST_F(Hdf5Graph, NewestFileFormatReadsAlike) {
  GraphFile file = five_nodes();
  file.file_access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_libver_bounds(file.file_access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  expect_five_nodes(read(file));
  H5Pclose(file.file_access);
}

TEST_F(Hdf5Graph, UserBlockBeforeTheFileIsSkipped) {
  GraphFile file = five_nodes();
  file.file_creation = H5Pcreate(H5P_FILE_CREATE);
  H5Pset_userblock(file.file_creation, 1024);
  expect_five_nodes(read(file));
  H5Pclose(file.file_creation);
}

TEST_F(Hdf5Graph, SoftLinksInsideTheFileAreFollowed) {
  GraphFile file = five_nodes();
  file.also = [](hid_t id) {
    H5Lmove(id, "/nodes/comp", id, "/nodes/times", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/nodes/times", id, "/nodes/comp", H5P_DEFAULT, H5P_DEFAULT);
  };
  expect_five_nodes(read(file));
}

// C16: pieces of every size give the same graph.
TEST_F(Hdf5Graph, PiecesOfAnySizeGiveTheSameGraph) {
  for (const bool filtered : {false, true}) {
    GraphFile file = five_nodes();
    if (filtered) {
      for (const auto& array : file.arrays) file.stored[array.first] = {.chunk = 3, .properties = [](hid_t p) { H5Pset_nbit(p); }, .shape = {}};
    }
    file.write(path_);
    for (const char* bytes : {"1", "7", "8", "9", "23", "24", "25", "47", "48", "49", "4096"}) {
      setenv("PARDNN_IO_CHUNK", bytes, 1);
      SCOPED_TRACE(bytes);
      const GraphData data = read_graph_data(path_, kAll);
      expect_five_nodes(data);
      EXPECT_EQ(data.names[3], "grad");
    }
  }
  unsetenv("PARDNN_IO_CHUNK");
}

// ---------------------------------------------------------------------------------------------------- shapes

TEST_F(Hdf5Graph, MissingDatasetsAreNamed) {
  for (const char* path : {"/edges/indptr", "/edges/indices", "/edges/bytes", "/nodes/comp", "/nodes/mem"}) {
    GraphFile file = five_nodes();
    file.arrays.erase(path);
    EXPECT_EQ(fault(file), std::string(path) + ": dataset is missing");
  }
  GraphFile file = five_nodes();
  file.name_bytes.clear();
  EXPECT_EQ(fault(file), "/nodes/name_bytes: dataset is missing");
}

TEST_F(Hdf5Graph, WrongRankIsNamed) {
  GraphFile file = five_nodes();
  file.stored["/nodes/mem"].shape = {5, 1};
  EXPECT_SAYS(fault(file), "/nodes/mem: has 2 dimensions, expected 1");
  file = five_nodes();
  file.arrays.erase("/nodes/mem");
  file.also = [](hid_t id) {
    const hid_t space = H5Screate(H5S_SCALAR);
    H5Dclose(H5Dcreate2(id, "/nodes/mem", H5T_STD_I64LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Sclose(space);
  };
  EXPECT_SAYS(fault(file), "/nodes/mem: has 0 dimensions, expected 1");
}

TEST_F(Hdf5Graph, WrongLengthIsNamed) {
  GraphFile file = five_nodes();
  file.arrays["/nodes/mem"].push_back(1);
  EXPECT_SAYS(fault(file), "/nodes/mem: has length 6, expected 5");
}

TEST_F(Hdf5Graph, GroupInPlaceOfADatasetIsNamed) {
  GraphFile file = five_nodes();
  file.arrays.erase("/nodes/mem");
  file.also = [](hid_t id) { H5Gclose(H5Gcreate2(id, "/nodes/mem", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)); };
  EXPECT_SAYS(fault(file), "/nodes/mem: ");
}

TEST_F(Hdf5Graph, ValidateListsEveryErrorOfAFile) {
  GraphFile file = five_nodes();
  file.arrays.erase("/nodes/mem");
  file.stored["/nodes/temp"].type = H5T_IEEE_F32LE;
  file.arrays["/nodes/kind"][1] = 5;
  file.arrays["/edges/indices"][3] = 1;
  file.name_bytes[1] = '\t';
  file.write(path_);
  std::vector<std::string> datasets;
  for (const Finding& finding : validate_graph_file(path_)) datasets.push_back(finding.dataset);
  const std::vector<std::string> expected{"/nodes/mem", "/nodes/temp", "/nodes/name_bytes", "/edges/indices"};
  for (const std::string& dataset : expected) EXPECT_NE(std::find(datasets.begin(), datasets.end(), dataset), datasets.end()) << dataset;
  EXPECT_EQ(std::count(datasets.begin(), datasets.end(), "/nodes/mem"), 1);
}

// ---------------------------------------------------------------------------------------------------- attributes (C12, C13)

TEST_F(Hdf5Graph, VersionReadsAlikeAsScalarOneElementAndAnyIntegerType) {
  for (const std::vector<hsize_t>& shape : {std::vector<hsize_t>{}, std::vector<hsize_t>{1}}) {
    for (const hid_t type : {H5T_STD_I8LE, H5T_STD_I32BE, H5T_STD_I64LE, H5T_STD_U16BE, H5T_STD_U64LE}) {
      GraphFile file = five_nodes();
      file.attributes = [&](hid_t id) {
        put_text(id, "format", "pardnn-graph");
        const hid_t space = shape.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, shape.data(), nullptr);
        const hid_t attribute = H5Acreate2(id, "version", type, space, H5P_DEFAULT, H5P_DEFAULT);
        const int version = 1;
        H5Awrite(attribute, H5T_NATIVE_INT, &version);
        H5Aclose(attribute);
        H5Sclose(space);
      };
      expect_five_nodes(read(file));
    }
  }
}

TEST_F(Hdf5Graph, TextAttributesOfAnyKindReadAlike) {
  for (const Text kind : {Text::fixed_null_padded, Text::fixed_null_terminated, Text::fixed_space_padded, Text::variable}) {
    for (const H5T_cset_t set : {H5T_CSET_ASCII, H5T_CSET_UTF8}) {
      for (const std::vector<hsize_t>& shape : {std::vector<hsize_t>{}, std::vector<hsize_t>{1}}) {
        GraphFile file = five_nodes();
        file.attributes = [&](hid_t id) {
          put_text(id, "format", "pardnn-graph", kind, set, shape);
          put_text(id, "name", "a name", kind, set, shape);
          const std::int64_t version = 1;
          put_attribute(id, "version", H5T_NATIVE_INT64, &version);
        };
        EXPECT_EQ(read(file).name, "a name");
      }
    }
  }
}

TEST_F(Hdf5Graph, AttributeOfTwoElementsIsRefused) {
  GraphFile file = five_nodes();
  file.attributes = [](hid_t id) { put_text(id, "format", "pardnn-graph", Text::variable, H5T_CSET_UTF8, {2}); };
  EXPECT_SAYS(fault(file), "/format: has 2 elements, expected one");
  file.attributes = [](hid_t id) { put_text(id, "format", "pardnn-graph", Text::variable, H5T_CSET_UTF8, {1, 1}); };
  EXPECT_SAYS(fault(file), "/format: has 2 dimensions, expected a scalar or one element");
  file.attributes = [](hid_t id) {
    put_text(id, "format", "pardnn-graph");
    const std::int64_t version[] = {1, 1};
    put_attribute(id, "version", H5T_NATIVE_INT64, version, {2});
  };
  EXPECT_SAYS(fault(file), "/version: has 2 elements, expected one");
}

TEST_F(Hdf5Graph, EndlessTextIsRefusedWhateverItsKind) {
  for (const Text kind : {Text::fixed_null_padded, Text::variable}) {
    GraphFile file = five_nodes();
    file.file_access = H5Pcreate(H5P_FILE_ACCESS);  // attributes of this size need the newer format
    H5Pset_libver_bounds(file.file_access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    file.attributes = [&](hid_t id) {
      put_text(id, "format", "pardnn-graph");
      put_text(id, "name", std::string(2'000'000, 'x'), kind, H5T_CSET_UTF8, {});
      const std::int64_t version = 1;
      put_attribute(id, "version", H5T_NATIVE_INT64, &version);
    };
    EXPECT_SAYS(fault(file), " bytes, expected at most 1048576");
    H5Pclose(file.file_access);
  }
}

TEST_F(Hdf5Graph, WrongFormatAndVersionAreNamed) {
  GraphFile file = five_nodes();
  file.attributes = [](hid_t) {};
  EXPECT_SAYS(fault(file), "/format: attribute is missing, expected 'pardnn-graph'");
  file.attributes = [](hid_t id) { put_text(id, "format", "\x1B[2Jevil"); };
  EXPECT_SAYS(fault(file), "/format: is '\\x1b[2Jevil', expected 'pardnn-graph'");
  file.attributes = [](hid_t id) {
    put_text(id, "format", "pardnn-graph");
    const std::int64_t version = 2;
    put_attribute(id, "version", H5T_NATIVE_INT64, &version);
  };
  EXPECT_SAYS(fault(file), "/version: is 2, this program knows version 1");
}

TEST_F(Hdf5Graph, OperationTypesOfAnyKindReadAlike) {
  for (const Text kind : {Text::fixed_null_padded, Text::fixed_null_terminated, Text::fixed_space_padded, Text::variable}) {
    for (const H5T_cset_t set : {H5T_CSET_ASCII, H5T_CSET_UTF8}) {
      GraphFile file = five_nodes();
      file.arrays["/nodes/op"] = {0, 1, 1, 1, 0};
      file.also = [&](hid_t id) {
        const hid_t type = text_type(kind, set, 9);
        const char* const pointers[] = {"variable", "matmul"};
        std::string fields = kind == Text::fixed_space_padded ? "variable matmul   " : std::string("variable\0matmul\0\0\0", 18);
        GraphFile::put(id, "/op_types", type, type, {2}, kind == Text::variable ? static_cast<const void*>(pointers) : fields.data(), Stored{});
        H5Tclose(type);
      };
      const GraphData data = read(file);
      EXPECT_EQ(data.op_types, (std::vector<std::string>{"variable", "matmul"}));
      EXPECT_EQ(data.op, (std::vector<std::int64_t>{0, 1, 1, 1, 0}));
    }
  }
}

// ---------------------------------------------------------------------------------------------------- hostile files

TEST_F(Hdf5Graph, SmallFileThatDeclaresTerabytesIsRefusedAtOnce) {
  const std::vector<Stored> ways{
      {.properties = {}, .shape = {hsize_t{1} << 40}, .unwritten = true},
      {.chunk = 1 << 16, .properties = [](hid_t p) { H5Pset_deflate(p, 9); }, .shape = {hsize_t{1} << 40}, .unwritten = true},
      {.chunk = (hsize_t{1} << 29) - 1, .properties = [](hid_t p) { H5Pset_scaleoffset(p, H5Z_SO_INT, 0); }, .shape = {hsize_t{1} << 40}, .unwritten = true},
      {.chunk = 16, .properties = {}, .shape = {hsize_t{1} << 60}, .unwritten = true},
  };
  for (const Stored& way : ways) {
    for (const char* path : {"/edges/indptr", "/nodes/comp", "/nodes/name_offsets"}) {
      GraphFile file = five_nodes();
      file.stored[path] = way;
      EXPECT_SAYS(fault(file), std::string(path) + ": declares 1");
      EXPECT_LT(std::filesystem::file_size(path_), 20'000U);
    }
  }
}

TEST_F(Hdf5Graph, SmallUnwrittenDatasetReadsAsItsFillValue) {
  GraphFile file = five_nodes();
  file.stored["/nodes/temp"].unwritten = true;
  EXPECT_EQ(read(file).temp, std::vector<std::int64_t>(5, 0));
}

TEST_F(Hdf5Graph, ExternalStorageIsRefused) {
  spill(folder_ / "elsewhere", std::string(40, '\0'));
  GraphFile file = five_nodes();
  file.stored["/nodes/mem"].properties = [&](hid_t p) { H5Pset_external(p, (folder_ / "elsewhere").c_str(), 0, 40); };
  EXPECT_SAYS(fault(file), "/nodes/mem: has its data in external files");
}

TEST_F(Hdf5Graph, VirtualDatasetIsRefused) {
  const std::string source = folder_ / "source.h5";
  five_nodes().write(source);
  GraphFile file = five_nodes();
  file.stored["/nodes/mem"] = {.properties = [&](hid_t p) {
    const hsize_t size = 5;
    const hid_t space = H5Screate_simple(1, &size, nullptr);
    H5Pset_virtual(p, space, source.c_str(), "/nodes/mem", space);
    H5Sclose(space);
  }, .shape = {}, .unwritten = true};
  EXPECT_SAYS(fault(file), "/nodes/mem: is a virtual dataset");
}

TEST_F(Hdf5Graph, ExternalLinksAreRefused) {
  const std::string source = folder_ / "source.h5";
  five_nodes().write(source);
  GraphFile file = five_nodes();
  file.arrays.erase("/nodes/mem");
  file.also = [&](hid_t id) { H5Lcreate_external(source.c_str(), "/nodes/mem", id, "/nodes/mem", H5P_DEFAULT, H5P_DEFAULT); };
  EXPECT_SAYS(fault(file), "/nodes/mem: is behind an external link");
  // A whole group elsewhere, and a soft link that leads there.
  file.also = [&](hid_t id) {
    H5Lcreate_external(source.c_str(), "/nodes", id, "/far", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/far/mem", id, "/nodes/mem", H5P_DEFAULT, H5P_DEFAULT);
  };
  EXPECT_SAYS(fault(file), "/nodes/mem: is behind an external link");
}

TEST_F(Hdf5Graph, DanglingAndCircularSoftLinksAreErrors) {
  GraphFile file = five_nodes();
  file.arrays.erase("/nodes/mem");
  file.also = [](hid_t id) { H5Lcreate_soft("/nowhere", id, "/nodes/mem", H5P_DEFAULT, H5P_DEFAULT); };
  EXPECT_SAYS(fault(file), "/nodes/mem: ");
  file.also = [](hid_t id) { H5Lcreate_soft("/nodes/mem", id, "/nodes/mem", H5P_DEFAULT, H5P_DEFAULT); };
  EXPECT_SAYS(fault(file), "/nodes/mem: ");
}

std::size_t pass_through(unsigned, std::size_t, const unsigned*, std::size_t bytes, std::size_t*, void**) { return bytes; }

// C6: a filter that would need a plugin.
TEST_F(Hdf5Graph, UnavailableFilterIsNamedWithItsDataset) {
  constexpr H5Z_filter_t kFilter = 32001;
  const H5Z_class2_t filter{H5Z_CLASS_T_VERS, kFilter, 1, 1, "blosc", nullptr, nullptr, pass_through};
  ASSERT_GE(H5Zregister(&filter), 0);
  GraphFile file = five_nodes();
  file.stored["/nodes/mem"] = {.chunk = 5, .properties = [](hid_t p) { H5Pset_filter(p, kFilter, 0, 0, nullptr); }, .shape = {}};
  file.write(path_);
  H5Zunregister(kFilter);
  const std::string text = fault_of_file();
  EXPECT_SAYS(text, "/nodes/mem: needs the filter 32001 (blosc)");
  EXPECT_SAYS(text, "HDF5_PLUGIN_PATH");
}

/// A deflated dataset of five elements whose one chunk holds something else.
void put_chunk(hid_t file, const char* path, const std::vector<unsigned char>& stored) {
  const Stored how{.chunk = 5, .properties = [](hid_t p) { H5Pset_deflate(p, 1); }, .shape = {5}, .unwritten = true};
  GraphFile::write_array(file, path, {}, how);
  const hid_t dataset = must(H5Dopen2(file, path, H5P_DEFAULT));
  const hsize_t offset = 0;
  EXPECT_GE(H5Dwrite_chunk(dataset, H5P_DEFAULT, 0, &offset, stored.size(), stored.data()), 0);
  H5Dclose(dataset);
}

// HDF5 1.10 would read past the end of what such a chunk decodes to.
TEST_F(Hdf5Graph, ChunkThatDecodesToTheWrongLengthIsRefused) {
  const auto deflated = [](std::size_t size) {
    const std::vector<unsigned char> plain(size, 0);
    std::vector<unsigned char> out(compressBound(size));
    uLongf length = out.size();
    EXPECT_EQ(compress(out.data(), &length, plain.data(), size), Z_OK);
    out.resize(length);
    return out;
  };
  GraphFile file = five_nodes();
  file.arrays.erase("/nodes/mem");
  file.also = [&](hid_t id) { put_chunk(id, "/nodes/mem", deflated(8)); };
  EXPECT_EQ(fault(file), "/nodes/mem: the storage chunk at element 0 is damaged: it holds 8 bytes, expected 40");
  file.also = [&](hid_t id) { put_chunk(id, "/nodes/mem", deflated(4'000'000)); };
  EXPECT_SAYS(fault(file), "/nodes/mem: the storage chunk at element 0 is damaged: its deflated data is cut off or too long");
  file.also = [&](hid_t id) { put_chunk(id, "/nodes/mem", {1, 2, 3}); };
  EXPECT_SAYS(fault(file), "/nodes/mem: the storage chunk at element 0 is damaged: its deflated data is damaged");
  file.also = [&](hid_t id) { put_chunk(id, "/nodes/mem", deflated(40)); };
  EXPECT_EQ(read(file).mem, std::vector<std::int64_t>(5, 0));
}

TEST_F(Hdf5Graph, WrongChecksumIsNamed) {
  GraphFile file = five_nodes();
  file.arrays["/nodes/mem"] = {0x5A5A5A5A, 50, 0, 100, 0};
  file.stored["/nodes/mem"] = {.chunk = 5, .properties = [](hid_t p) { H5Pset_fletcher32(p); }, .shape = {}};
  file.write(path_);
  std::string bytes = slurp(path_);
  const std::size_t at = bytes.find("ZZZZ");
  ASSERT_NE(at, std::string::npos);
  bytes[at] = 'Y';
  spill(path_, bytes);
  EXPECT_EQ(fault_of_file(), "/nodes/mem: the storage chunk at element 0 is damaged: its checksum is wrong");
}

TEST_F(Hdf5Graph, UnwrittenChunksAreTheFillValue) {
  GraphFile file = five_nodes();
  file.stored["/nodes/temp"] = {.chunk = 2, .properties = [](hid_t p) { H5Pset_shuffle(p), H5Pset_deflate(p, 1); }, .shape = {}, .unwritten = true};
  EXPECT_EQ(read(file).temp, std::vector<std::int64_t>(5, 0));
}

// Some chunks written, others never: each version of HDF5 says so in its own way.
TEST_F(Hdf5Graph, SomeChunksUnwrittenAreTheFillValue) {
  const std::vector<std::function<void(hid_t)>> filters{[](hid_t) {}, [](hid_t p) { H5Pset_shuffle(p), H5Pset_deflate(p, 1); }, [](hid_t p) { H5Pset_fletcher32(p); }};
  for (const auto& filter : filters) {
    for (const hsize_t most : {hsize_t{5}, hsize_t{9}, H5S_UNLIMITED}) {
      for (const H5F_libver_t version : {H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST}) {
        GraphFile file = five_nodes();
        file.arrays.erase("/nodes/temp");
        file.file_access = H5Pcreate(H5P_FILE_ACCESS);
        H5Pset_libver_bounds(file.file_access, version, H5F_LIBVER_LATEST);
        file.attributes = [&, old = file.attributes](hid_t id) {
          old(id);
          const hsize_t length = 5, chunk = 2, first = 2, one = 1;
          const std::int64_t fill = 9, value = 4;
          const hid_t space = H5Screate_simple(1, &length, &most), creation = H5Pcreate(H5P_DATASET_CREATE), memory = H5Screate_simple(1, &one, nullptr);
          H5Pset_chunk(creation, 1, &chunk);
          H5Pset_fill_value(creation, H5T_NATIVE_INT64, &fill);
          filter(creation);
          const hid_t links = H5Pcreate(H5P_LINK_CREATE);
          H5Pset_create_intermediate_group(links, 1);
          const hid_t dataset = H5Dcreate2(id, "/nodes/temp", H5T_STD_I64LE, space, links, creation, H5P_DEFAULT);
          ASSERT_GE(dataset, 0);
          H5Sselect_hyperslab(space, H5S_SELECT_SET, &first, nullptr, &one, nullptr);
          ASSERT_GE(H5Dwrite(dataset, H5T_NATIVE_INT64, memory, space, H5P_DEFAULT, &value), 0);
          H5Dclose(dataset), H5Pclose(links), H5Sclose(memory), H5Pclose(creation), H5Sclose(space);
        };
        EXPECT_EQ(read(file).temp, (std::vector<std::int64_t>{9, 9, 4, 9, 9}));
        H5Pclose(file.file_access);
      }
    }
  }
}

// The index gives each chunk a length; one that is not the chunk's own must not move a byte outside our buffers.
TEST_F(Hdf5Graph, LengthsOfUnfilteredChunksAreNotTrusted) {
  GraphFile file = five_nodes();
  file.stored["/nodes/comp"] = {.chunk = 3, .properties = {}, .shape = {}};
  const std::vector<std::int64_t> comp = read(file).comp;
  const std::string whole = slurp(path_);
  // Node of the chunk index (version 1 B-tree, "TREE", type 1): its first key starts with the length of the chunk, 3 x 8 bytes.
  const std::size_t tree = whole.find(std::string("TREE\x01", 5));
  ASSERT_NE(tree, std::string::npos);
  ASSERT_EQ(whole[tree + 24], 24);
  for (const unsigned length : {0U, 8U, 25U, 200U, 65'000U, 0xFFFFFFF0U}) {
    std::string damaged = whole;
    for (std::size_t i = 0; i < 4; ++i) damaged[tree + 24 + i] = static_cast<char>(length >> (8 * i));
    spill(path_, damaged);
    try {
      EXPECT_EQ(read_graph_data(path_, kAll).comp, comp) << length;
    } catch (const InputError&) {
    }
  }
}

// H5Pset_chunk_opts: a last chunk that sticks out of the dataset is stored without its filters.
TEST_F(Hdf5Graph, UnfilteredLastChunksReadAlike) {
  for (const hsize_t chunk : {2, 3, 4}) {
    GraphFile file = five_nodes();
    file.file_access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_libver_bounds(file.file_access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
    const auto filters = [](hid_t p) { H5Pset_shuffle(p), H5Pset_deflate(p, 1), H5Pset_fletcher32(p), H5Pset_chunk_opts(p, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS); };
    for (const auto& array : file.arrays) file.stored[array.first] = {.chunk = chunk, .properties = filters, .shape = {}};
    expect_five_nodes(read(file));
    H5Pclose(file.file_access);
  }
}

TEST_F(Hdf5Graph, SumsPast62BitsAreRefused) {
  GraphFile file = five_nodes();
  file.arrays["/nodes/comp"] = {0, INT64_MAX / 2, INT64_MAX / 2, 0, 0};
  EXPECT_SAYS(fault(file), "/nodes/comp: the sum up to index 2 reaches 2^62");
}

// A32: files of other kinds.
TEST_F(Hdf5Graph, OtherFilesAreNoHdf5) {
  for (const std::string& content : {std::string("3 2\n2 3\n1\n1\n"), std::string("PK\x03\x04 not a graph"), std::string(5000, '\0'), std::string("\x89HDF")}) {
    spill(path_, content);
    EXPECT_EQ(fault_of_file(), "is not an HDF5 file, expected an HDF5 graph");
  }
  spill(path_, "");
  EXPECT_EQ(fault_of_file(), "is empty, expected an HDF5 graph");
  EXPECT_SAYS(input_error([&] { read_graph_data(folder_.path()); }), "is a directory, expected an HDF5 graph");
  EXPECT_SAYS(input_error([&] { read_graph_data(folder_ / "none.h5"); }), "none.h5: No such file or directory");
  EXPECT_SAYS(input_error([&] { read_graph_data("/dev/null"); }), "/dev/null: is not a regular file");
  const hid_t file = H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  H5Fclose(file);
  EXPECT_SAYS(fault_of_file(), "/format: attribute is missing, expected 'pardnn-graph': not a graph file");
}

// C4
TEST_F(Hdf5Graph, TruncatedFileSaysWhatItHasAndNeeds) {
  five_nodes().write(path_);
  const std::string whole = slurp(path_);
  for (const std::size_t size : {std::size_t{96}, whole.size() / 2, whole.size() - 1}) {
    spill(path_, whole.substr(0, size));
    EXPECT_EQ(fault_of_file(), "truncated: have " + std::to_string(size) + " bytes, need " + std::to_string(whole.size()));
  }
  spill(path_, whole.substr(0, 20));
  EXPECT_SAYS(fault_of_file(), "truncated: have 20 bytes");
}

// C1
TEST_F(Hdf5Graph, FileSystemWithoutLocksIsRead) {
  five_nodes().write(path_);
  for (const int error : {ENOLCK, 524, ENOSYS, EOPNOTSUPP}) {
    const NoLocks failing(error);
    const GraphData data = read_graph_data(path_, kAll);
    expect_five_nodes(data);
  }
}

TEST_F(Hdf5Graph, OtherFailuresToLockNameTheRemedy) {
  five_nodes().write(path_);
  for (const int error : {EIO, EAGAIN}) {
    const NoLocks failing(error);
    const std::string text = fault_of_file();
    EXPECT_SAYS(text, "HDF5_USE_FILE_LOCKING=FALSE");
  }
}

// C3: a writer that was killed leaves its mark in files of the newest format.
TEST_F(Hdf5Graph, FileLeftOpenByItsWriterIsNamed) {
  GraphFile file = five_nodes();
  file.file_access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_libver_bounds(file.file_access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  file.write(path_);
  H5Pclose(file.file_access);
  std::string bytes = slurp(path_);
  ASSERT_GE(bytes[8], 2);
  bytes[8] = 3;
  bytes[11] = 1;
  spill(path_, bytes);
  EXPECT_SAYS(fault_of_file(), "is open for writing, or its writer was killed");
}

TEST_F(Hdf5Graph, ReadingLeavesTheFileAsItIs) {
  five_nodes().write(path_);
  const std::string before = slurp(path_);
  std::filesystem::permissions(path_, std::filesystem::perms::owner_read);
  read_graph_data(path_, kAll);
  EXPECT_EQ(slurp(path_), before);
  EXPECT_EQ(folder_.content(), std::vector<std::string>{"graph.h5"});
}

TEST_F(Hdf5Graph, ReadingLeavesTheCallersErrorPrinterAlone) {
  H5E_auto2_t printer = [](hid_t, void*) -> herr_t { return 0; };
  H5Eset_auto2(H5E_DEFAULT, printer, this);
  five_nodes().write(path_);
  read_graph_data(path_, kAll);
  H5E_auto2_t now = nullptr;
  void* data = nullptr;
  H5Eget_auto2(H5E_DEFAULT, &now, &data);
  EXPECT_EQ(now, printer);
  EXPECT_EQ(data, this);
}

GraphFile wide_graph(std::int64_t nodes) {
  GraphFile file;
  file.attributes = usual_attributes;
  const std::vector<std::int64_t> zeros(static_cast<std::size_t>(nodes), 0);
  file.arrays = {{"/edges/indptr", std::vector<std::int64_t>(static_cast<std::size_t>(nodes) + 1, 0)}, {"/edges/indices", {}}, {"/edges/bytes", {}}, {"/nodes/comp", zeros}, {"/nodes/mem", zeros}};
  for (const char* path : {"/edges/indptr", "/nodes/comp", "/nodes/mem"}) {
    file.stored[path] = {.chunk = 1 << 16, .properties = [](hid_t p) { H5Pset_deflate(p, 1); }, .shape = {}};
  }
  return file;
}

TEST_F(Hdf5Graph, MoreThanTheMemoryAtHandIsRefusedBeforeItIsAllocated) {
  wide_graph(4'000'000).write(path_);  // 96 MB in memory, a few hundred KB in the file
  EXPECT_EQ(read_graph_data(path_).num_nodes(), 4'000'000);
  const auto child = [&] {
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    const rlimit limit{pages * 4096 + (32U << 20), RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &limit);
    const std::string text = system_error([&] { read_graph_data(path_); });
    std::fprintf(stderr, "%s\n", text.c_str());
    _exit(text.empty() ? 1 : 0);
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "needs 91 MiB of memory");
}

// C14: names cost memory only while they are checked, and nothing beside a little when they are not wanted.
TEST_F(Hdf5Graph, MillionNamesAreCheckedInBoundedMemory) {
  constexpr std::int64_t kNodes = 300'000;
  GraphFile file = wide_graph(kNodes);
  file.name_bytes.reserve(40 * kNodes);
  std::vector<std::int64_t> offsets{0};
  for (std::int64_t n = 0; n < kNodes; ++n) {
    file.name_bytes += "a/rather/long/name/of/some/node/" + std::to_string(n);
    offsets.push_back(static_cast<std::int64_t>(file.name_bytes.size()));
  }
  file.arrays["/nodes/name_offsets"] = offsets;
  file.write(path_);
  EXPECT_TRUE(read_graph_data(path_).names.empty());
  EXPECT_EQ(read_graph_data(path_, kAll).names[kNodes - 1], "a/rather/long/name/of/some/node/299999");
}

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kAddressSanitizer = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kAddressSanitizer = true;
#else
constexpr bool kAddressSanitizer = false;
#endif
#else
constexpr bool kAddressSanitizer = false;
#endif

// Byte flips at random places: an error in one line, or a graph; never a crash. Runs in a child, so that a crash is a failure.
TEST_F(Hdf5Graph, DamagedFilesNeverCrash) {
  if (kAddressSanitizer) GTEST_SKIP() << "HDF5 1.10.8 itself reads a few bytes past its buffers in damaged object headers";
  GraphFile file = five_nodes();
  for (const auto& array : file.arrays) {
    if (array.first[1] == 'n') file.stored[array.first] = {.chunk = 4, .properties = [](hid_t p) { H5Pset_shuffle(p), H5Pset_deflate(p, 1); }, .shape = {}};
  }
  file.write(path_);
  const std::string whole = slurp(path_);
  const char* const more = std::getenv("PARDNN_TEST_VARIANTS");
  const int variants = more == nullptr ? 400 : std::atoi(more);
  const auto child = [&] {
    std::uint64_t state = 88172645463325252U;
    const auto random = [&state] {
      state ^= state << 13;
      state ^= state >> 7;
      state ^= state << 17;
      return state;
    };
    int refused = 0;
    for (int variant = 0; variant < variants; ++variant) {
      std::string damaged = whole;
      const std::uint64_t flips = 1 + random() % 24;
      for (std::uint64_t i = 0; i < flips; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
      spill(path_, damaged);
      try {
        read_graph_data(path_, kAll);
        validate_graph_file(path_);
      } catch (const InputError&) {
        ++refused;
      } catch (const SystemError&) {
        ++refused;
      }
    }
    std::exit(refused > 100 ? 0 : 1);
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
}

TEST(AvailableMemory, IsKnownAndFollowsTheAddressSpaceLimit) {
  EXPECT_GT(available_memory(), std::size_t{1} << 20);
  EXPECT_LT(available_memory(), SIZE_MAX);
  const auto child = [&] {
    const rlimit limit{std::size_t{4} << 30, RLIM_INFINITY};
    setrlimit(RLIMIT_AS, &limit);
    _exit(available_memory() <= std::size_t{4} << 30 ? 0 : 1);
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
}

TEST(TestData, EveryCapturedGraphIsLegal) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(PARDNN_TEST_DATA)) {
    if (entry.path().extension() != ".h5") continue;
    SCOPED_TRACE(entry.path());
    EXPECT_TRUE(validate_graph_file(entry.path().string()).empty());
    EXPECT_GT(read_graph_data(entry.path().string()).num_edges(), 0);
    ++files;
  }
  EXPECT_GE(files, 7);
}

}  // namespace
}  // namespace pardnn::test
