/// Small helpers around files that HDF5, text and placements share. `write_atomically` is declared in pardnn/io.hpp.
#pragma once

#include <cstddef>
#include <string>

namespace pardnn {

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
