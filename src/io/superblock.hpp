/// The head of an HDF5 file, read without HDF5: to say in one line why a file cannot be opened.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace pardnn {

struct Superblock {
  int version = 0;
  /// Bytes that the file must have.
  std::uint64_t end_of_file = 0;
  /// A writer had it open and never closed it (version 3 only).
  bool open_for_write = false;
  /// Head of the file itself cut off: `end_of_file` is unknown.
  bool cut_off = false;
};

/// Looks for the signature at 0, 512, 1024, 2048 ... (HDF5 File Format Specification 3.0, II.A). Nothing: not an HDF5 file.
std::optional<Superblock> read_superblock(const std::string& file);

}  // namespace pardnn
