/// HDF5 with owners for its handles and one check for its return codes. Private to io/, which alone includes hdf5.h.
///
/// Files are opened read-only and taken for hostile: external storage, virtual datasets, external links and filters that would
/// need a plugin are refused, and declared sizes are held against the file's own size before anybody allocates.
/// HDF5 keeps global state: use from one thread at a time, as everything in io/.
#pragma once

#include <hdf5.h>

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace pardnn::h5 {

/// A call of HDF5 failed: what it says about the cause, in one line.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A dataset or attribute is not what it must be. `object` is its path.
class ObjectError : public std::runtime_error {
 public:
  ObjectError(std::string object, const std::string& message) : std::runtime_error(message), object_(std::move(object)) {}
  const std::string& object() const { return object_; }

 private:
  std::string object_;
};

/// Throws Failure with the cause that HDF5 gives for the failure of `call`.
[[noreturn]] void fail(const char* call);

/// The one way in which return codes are read: negative is failure.
template <typename Code>
Code checked(Code code, const char* call) {
  if (code < 0) fail(call);
  return code;
}

/// While it lives HDF5 prints no errors and loads no plugins; then both are as they were.
class Session {
 public:
  Session();
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

 private:
  H5E_auto2_t print_ = nullptr;
  void* print_data_ = nullptr;
  unsigned plugins_ = 0;
};

/// Owns one HDF5 id.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle() = default;
  /// Takes `id`, checked.
  Handle(hid_t id, Close closer, const char* call) : id_(checked(id, call)), close_(closer) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  hid_t get() const { return id_; }
  explicit operator bool() const { return id_ >= 0; }
  /// Closes now and checks: a full disk may show only here.
  void close(const char* call) {
    if (id_ >= 0) checked(close_(std::exchange(id_, -1)), call);
  }

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

/// Greatest number of bytes in one call of H5Dread or H5Dwrite: 2^31 - 1, or less by the environment variable PARDNN_IO_CHUNK
/// (a knob for tests; C16 of the user reports).
std::size_t io_piece_bytes();

/// An HDF5 file opened to read.
class InputFile {
 public:
  /// `expected` says what the file should be ("an HDF5 graph"). Throws InputError: no such file, a directory, not HDF5,
  /// truncated (bytes it has, bytes it needs), locked.
  InputFile(const std::string& file, const std::string& expected);

  const std::string& name() const { return name_; }
  std::uint64_t size() const { return size_; }
  hid_t id() const { return file_.get(); }

  /// Whether an object of this path exists. Throws ObjectError if the path leaves the file.
  bool has(const std::string& path) const;
  /// Attribute of the root group; nothing if there is none. Throws ObjectError if it is no integer or not one of them.
  std::optional<std::int64_t> integer_attribute(const std::string& name) const;
  /// The same for a string: scalar or of shape (1,), fixed or variable length, ASCII or UTF-8, any padding.
  std::optional<std::string> string_attribute(const std::string& name) const;

 private:
  Session session_;
  std::string name_;
  std::uint64_t size_ = 0;
  Handle file_;
};

/// A one-dimensional dataset of a hostile file, checked for all that can be known before reading. Throws ObjectError.
class InputDataset {
 public:
  /// What its elements must be.
  enum class Element { integer, byte, string };

  InputDataset(const InputFile& file, const std::string& path, Element element);

  const std::string& path() const { return path_; }
  std::int64_t length() const { return length_; }

  /// Reads elements [first, first + out.size()) in pieces. Unsigned values that would not fit are found, not clamped.
  void read(std::int64_t first, std::span<std::int64_t> out) const;
  /// The same for 32-bit results; throws ObjectError if a value does not fit.
  void read_bytes(std::int64_t first, std::span<char> out) const;
  std::vector<std::int64_t> read_all() const;
  /// At most `limit` bytes of text in all.
  std::vector<std::string> read_strings(std::size_t limit) const;

 private:
  void check_storage(std::uint64_t file_size) const;
  void check_layout();
  void check_filters(hid_t properties) const;
  void check_type(Element element);
  void check_shape();
  /// Elements per call: whole storage chunks where a piece holds one.
  std::int64_t piece_length(std::size_t element_bytes) const;
  template <typename Value, typename Check>
  void read_pieces(hid_t memory_type, std::int64_t first, std::span<Value> out, Check&& check) const;
  [[noreturn]] void refuse(const std::string& message) const;

  std::string path_;
  Handle dataset_, type_, space_;
  H5D_layout_t layout_ = H5D_CONTIGUOUS;
  std::int64_t length_ = 0, chunk_length_ = 0;
  /// What one stored byte can expand to, at most.
  std::uint64_t expansion_ = 1;
  bool signed_ = true;
};

}  // namespace pardnn::h5
