/// Small helpers around files that HDF5, text and placements share. `write_atomically` is declared in pardnn/io.hpp.
#pragma once

#include <cstddef>
#include <string>

namespace pardnn {

/// A file in the making: written under a temporary name in the folder of `file`, renamed onto it by commit(). Unless committed
/// the temporary goes with this object and `file` stays as it was. Throws SystemError with the cause.
/// A path to a device or pipe is written as it is: there is no old content to keep.
class AtomicFile {
 public:
  explicit AtomicFile(const std::string& file);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  const std::string& temporary() const { return temporary_; }
  /// Syncs the closed temporary, renames it, syncs the folder.
  void commit();

 private:
  std::string shown_, target_, temporary_;
  bool special_ = false;
};

/// True if both paths lead to one existing file, by whatever links: for callers that must not write over their input.
bool same_file(const std::string& a, const std::string& b);

/// The extension with its dot, in lower case (".h5"), or "" if the file's name has none.
std::string extension_of(const std::string& file);

/// Size of a regular file in bytes. Throws InputError in one line where there is no such file, or it is a directory,
/// a device or a pipe, or may not be read. `expected` says what the file should have been ("an HDF5 graph").
std::size_t regular_file_size(const std::string& file, const std::string& expected);

/// The whole text of a regular file. Throws InputError as above, SystemError if reading fails or memory does not hold it.
std::string read_text_file(const std::string& file, const std::string& expected);

/// Writes `text` to `file` as it is, not atomically. Throws SystemError with the cause.
void write_text_file(const std::string& file, const std::string& text);

}  // namespace pardnn
