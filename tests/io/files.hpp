/// A folder of its own for each test, and HDF5 files with anything in them, right or wrong.
#pragma once

#include <gtest/gtest.h>
#include <hdf5.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "pardnn/error.hpp"

namespace pardnn::test {

/// Made empty, removed with all that is in it.
class TempFolder {
 public:
  TempFolder() {
    std::string pattern = testing::TempDir() + "pardnn-io-XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  /// Names of what is in it, sorted, hidden ones too.
  std::vector<std::string> content() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::string path_;
};

inline std::string slurp(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

inline void spill(const std::string& file, const std::string& text) { std::ofstream(file, std::ios::binary) << text; }

/// What the InputError of `action` says; empty if there is none.
inline std::string input_error(const std::function<void()>& action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

inline std::string system_error(const std::function<void()>& action) {
  try {
    action();
  } catch (const SystemError& error) {
    return error.what();
  }
  return {};
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << "says: " << (text)

/// Checks a return code of HDF5 in test set-up.
inline hid_t must(hid_t id) {
  if (id < 0) throw std::runtime_error("HDF5 failed in the set-up of a test");
  return id;
}

/// How one dataset is stored; empty fields: as written below.
struct Stored {
  hid_t type = -1;                           ///< H5T_STD_I64LE
  hsize_t chunk = 0;                         ///< contiguous
  std::function<void(hid_t)> properties;     ///< filters and the like
  std::vector<hsize_t> shape;                ///< one dimension of the values' length
  bool unwritten = false;
};

/// An HDF5 graph file as a table of datasets, to be changed before it is written.
struct GraphFile {
  std::map<std::string, std::vector<std::int64_t>> arrays;
  std::map<std::string, Stored> stored;
  std::string name_bytes;
  std::vector<std::string> op_types;
  /// Called with the file id at the end.
  std::function<void(hid_t)> also;
  std::function<void(hid_t)> attributes;
  hid_t file_access = H5P_DEFAULT, file_creation = H5P_DEFAULT;

  void write(const std::string& path) const {
    const hid_t file = must(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, file_creation, file_access));
    H5Gclose(must(H5Gcreate2(file, "/edges", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)));
    H5Gclose(must(H5Gcreate2(file, "/nodes", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)));
    attributes(file);
    for (const auto& array : arrays) {
      const auto how = stored.find(array.first);
      write_array(file, array.first, array.second, how == stored.end() ? Stored{} : how->second);
    }
    if (!name_bytes.empty()) {
      const hsize_t size = name_bytes.size();
      put(file, "/nodes/name_bytes", H5T_STD_U8LE, H5T_NATIVE_UCHAR, {size}, name_bytes.data(), Stored{});
    }
    if (also) also(file);
    EXPECT_GE(H5Fclose(file), 0);
  }

  static void write_array(hid_t file, const std::string& path, const std::vector<std::int64_t>& values, const Stored& how) {
    const std::vector<hsize_t> shape = how.shape.empty() ? std::vector<hsize_t>{values.size()} : how.shape;
    put(file, path, how.type >= 0 ? how.type : H5T_STD_I64LE, H5T_NATIVE_INT64, shape, values.data(), how);
  }

  static void put(hid_t file, const std::string& path, hid_t type, hid_t memory, const std::vector<hsize_t>& shape, const void* data, const Stored& how) {
    const hid_t space = must(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr));
    const hid_t creation = must(H5Pcreate(H5P_DATASET_CREATE));
    if (how.chunk > 0) H5Pset_chunk(creation, 1, &how.chunk);
    if (how.properties) how.properties(creation);
    const hid_t dataset = must(H5Dcreate2(file, path.c_str(), type, space, H5P_DEFAULT, creation, H5P_DEFAULT));
    if (!how.unwritten && data != nullptr) {
      EXPECT_GE(H5Dwrite(dataset, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data), 0) << path;
    }
    H5Dclose(dataset);
    H5Pclose(creation);
    H5Sclose(space);
  }
};

/// An attribute of any type and shape; `shape` empty: scalar.
inline void put_attribute(hid_t file, const char* name, hid_t type, const void* value, const std::vector<hsize_t>& shape = {}) {
  const hid_t space = must(shape.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr));
  const hid_t attribute = must(H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT));
  EXPECT_GE(H5Awrite(attribute, type, value), 0);
  H5Aclose(attribute);
  H5Sclose(space);
}

enum class Text { fixed_null_padded, fixed_null_terminated, fixed_space_padded, variable };

inline hid_t text_type(Text kind, H5T_cset_t set, std::size_t size) {
  const hid_t type = must(H5Tcopy(H5T_C_S1));
  H5Tset_size(type, kind == Text::variable ? H5T_VARIABLE : size);
  H5Tset_cset(type, set);
  if (kind == Text::fixed_null_padded) H5Tset_strpad(type, H5T_STR_NULLPAD);
  if (kind == Text::fixed_space_padded) H5Tset_strpad(type, H5T_STR_SPACEPAD);
  return type;
}

inline void put_text(hid_t file, const char* name, const std::string& text, Text kind = Text::fixed_null_padded,
                     H5T_cset_t set = H5T_CSET_UTF8, const std::vector<hsize_t>& shape = {}) {
  const std::size_t size = text.size() + 3;
  const hid_t type = text_type(kind, set, size);
  std::vector<char> padded(size * 2, kind == Text::fixed_space_padded ? ' ' : '\0');
  std::copy(text.begin(), text.end(), padded.begin());
  const char* const pointers[] = {text.c_str(), text.c_str()};
  put_attribute(file, name, type, kind == Text::variable ? static_cast<const void*>(pointers) : padded.data(), shape);
  H5Tclose(type);
}

inline void usual_attributes(hid_t file) {
  put_text(file, "format", "pardnn-graph");
  const std::int64_t version = 1;
  put_attribute(file, "version", H5T_NATIVE_INT64, &version);
  put_text(file, "name", "five nodes");
}

//   0 weight ----> 1 a ----> 2 b ----> 3 grad ----> 4 update
//   residual,                alias     gradient     reference,
//   group 7                  of a      of weight    group 7
inline GraphFile five_nodes() {
  GraphFile file;
  file.arrays = {
      {"/edges/indptr", {0, 1, 2, 3, 4, 4}},      {"/edges/indices", {1, 2, 3, 4}},           {"/edges/bytes", {100, 50, 50, 100}},
      {"/edges/output", {0, 0, 0, 1}},            {"/nodes/comp", {0, 10, 5, 20, 7}},         {"/nodes/mem", {100, 50, 0, 100, 0}},
      {"/nodes/temp", {0, 8, 0, 0, 0}},           {"/nodes/kind", {1, 0, 0, 0, 2}},           {"/nodes/colocation", {7, -1, -1, -1, 7}},
      {"/nodes/alias", {-1, -1, 1, -1, -1}},      {"/nodes/fixed", {1, -1, -1, -1, -1}},      {"/nodes/gradient_of", {-1, -1, -1, 0, -1}},
      {"/nodes/name_offsets", {0, 6, 7, 8, 12, 18}},
  };
  file.name_bytes = "weightabgradupdate";
  file.attributes = usual_attributes;
  return file;
}

}  // namespace pardnn::test
