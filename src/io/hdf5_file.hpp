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

#include "io/chunk_decoder.hpp"
#include "io/hdf5_sink.hpp"

namespace pardnn::h5 {

/// A call of HDF5 failed: what it says about the cause, in one line, and the errno behind it (0: none known).
class Failure : public std::runtime_error {
 public:
  explicit Failure(const std::string& what, int code = 0) : std::runtime_error(what), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
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
  /// The same for one that may use all 64 bits (seeds).
  std::optional<std::uint64_t> unsigned_attribute(const std::string& name) const;
  /// A number as decimal text, however it is stored: text, integer or floating point.
  std::optional<std::string> number_text_attribute(const std::string& name) const;
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
  /// The bytes of a dataset of 8-bit elements, as they are.
  void read_bytes(std::int64_t first, std::span<char> out) const;
  std::vector<std::int64_t> read_all() const;
  /// At most `limit` bytes of text in all.
  std::vector<std::string> read_strings(std::size_t limit) const;

 private:
  void check_storage() const;
  void check_layout();
  void read_filters(hid_t properties);
  void check_filter_lengths() const;
  void check_type(Element element);
  void check_shape();
  /// Elements per call: whole storage chunks where a piece holds one.
  std::int64_t piece_length(std::size_t element_bytes) const;
  template <typename Value>
  void read_pieces(hid_t memory_type, std::int64_t first, std::span<Value> out) const;
  /// The same chunk by chunk, through decode_chunk.
  template <typename Value>
  void read_chunks(hid_t memory_type, std::int64_t first, std::span<Value> out) const;
  /// Makes `chunk_` hold chunk `index`; false if it is not stored (then all of it is the fill value).
  bool load_chunk(std::int64_t index) const;
  template <typename Value>
  void read_values(hid_t memory_type, std::int64_t first, std::span<Value> out) const;
  [[noreturn]] void refuse(const std::string& message) const;

  /// The chunk that was decoded last, as it is stored but for its filters: blocks that are read in order share chunks.
  struct Chunk {
    std::int64_t index = -1;
    std::vector<unsigned char> bytes;
  };
  struct Filter : ChunkFilter {
    std::vector<unsigned> parameters;
  };

  std::string path_;
  std::uint64_t file_size_;
  Handle dataset_, type_, space_;
  H5D_layout_t layout_ = H5D_CONTIGUOUS;
  std::int64_t length_ = 0, chunk_length_ = 0;
  /// What one stored byte can expand to, at most.
  std::uint64_t expansion_ = 1;
  bool signed_ = true;
  std::vector<Filter> filters_;
  std::vector<ChunkFilter> decoded_filters_;
  bool decodes_ = false;
  /// False if a last chunk that sticks out of the dataset is stored as it is (H5Pset_chunk_opts).
  bool filters_last_chunk_ = true;
  mutable Chunk chunk_;
};

// ---------------------------------------------------------------------------------------------------- writing

/// An HDF5 file being written. Throws Failure; throw_system_error turns that into a SystemError with the file's name.
class OutputFile {
 public:
  /// Empties `path`, which exists or not.
  explicit OutputFile(const std::string& path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  hid_t id() const { return file_.get(); }
  void make_group(const std::string& path);
  void set_attribute(const std::string& name, std::int64_t value);
  void set_attribute(const std::string& name, std::uint64_t value);
  void set_attribute(const std::string& name, const std::string& text);
  /// Fixed-length UTF-8 strings.
  void write_strings(const std::string& path, const std::vector<std::string>& texts);
  /// Contiguous, in the given type (H5T_STD_I32LE ...).
  void write_array(const std::string& path, std::span<const std::int64_t> values, hid_t type);
  /// Throws if a write has failed so far: the disk is full, say. What is written after that is lost.
  void check() const;
  /// Closes and checks.
  void close();

 private:
  void create(const std::string& path);

  Session session_;
  SinkStatus status_;
  Handle driver_, file_;
};

/// "FILE: cannot be written: No space left on device".
[[noreturn]] void throw_system_error(const std::string& file, const Failure& failure);

/// A new dataset of `length` elements, unlimited and chunked if `chunk` > 0 (then shuffled and deflated), else contiguous.
Handle make_dataset(hid_t file, const std::string& path, hid_t type, std::int64_t length, std::int64_t chunk);
/// Writes `count` elements from `first` on, in pieces; the dataset grows to hold them.
void write_elements(const Handle& dataset, hid_t memory_type, std::size_t element_bytes, std::int64_t first, std::int64_t count,
                    const void* data, bool grow);

}  // namespace pardnn::h5
