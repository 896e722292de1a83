/// Plain files: what they are called, how large they are, and text read or written whole.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace pardnn {

/// Throws SystemError "FILE: what: cause", the cause from an errno.
[[noreturn]] void throw_system_error(const std::string& file, const char* what, int code);

/// A file descriptor with an owner.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  /// Closes now and gives errno, 0 if all is well: some file systems report a full disk only here.
  int close();

 private:
  int fd_;
};

/// The extension with its dot, in lower case (".h5"), or "" if the file's name has none.
std::string extension_of(const std::string& file);

/// Size of a regular file in bytes. Throws InputError in one line where there is no such file, or it is a directory,
/// a device or a pipe, or may not be read. `expected` says what the file should have been ("an HDF5 graph").
std::size_t regular_file_size(const std::string& file, const std::string& expected);

/// The whole text of a regular file. Throws InputError as above; SystemError if reading fails, or if `memory_per_byte` times its
/// size does not fit the memory that is left.
std::string read_text_file(const std::string& file, const std::string& expected, std::size_t memory_per_byte = 1);

/// Text written piece by piece through a buffer of 1 MiB, not atomically. Throws SystemError with the cause.
class TextWriter {
 public:
  /// `shown`: the name for errors, where `file` is a temporary.
  TextWriter(const std::string& file, const std::string& shown);
  void append(std::string_view text) {
    buffer_.append(text);
    if (buffer_.size() >= kBuffer) flush();
  }
  /// Must be called: a full disk may show only here.
  void close();

 private:
  static constexpr std::size_t kBuffer = std::size_t{1} << 20;
  void flush();

  std::string name_, buffer_;
  Descriptor file_;
};

}  // namespace pardnn
