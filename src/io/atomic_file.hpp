/// Files that appear whole or not at all. `write_atomically` is declared in pardnn/io.hpp.
#pragma once

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

}  // namespace pardnn
