#include "cli/output_files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "io/atomic_file.hpp"
#include "io/text_file.hpp"
#include "pardnn/error.hpp"
#include "pardnn/io.hpp"

namespace pardnn::cli {

namespace {

namespace fs = std::filesystem;

bool is_special(const std::string& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  return !error && fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
}

/// Makes a file in `folder` and removes it again.
void probe_folder(const std::string& folder, const std::string& file) {
  std::string pattern = folder + "/.pardnn-probe-XXXXXX";
  const int descriptor = mkstemp(pattern.data());
  if (descriptor < 0) {
    throw SystemError(fmt::format("{}: its folder takes no new file: {}", printable(file), std::generic_category().message(errno)));
  }
  close(descriptor);
  unlink(pattern.c_str());
}

void check_folder(const std::string& file) {
  const std::string parent = fs::path(file).parent_path().string();
  const std::string folder = parent.empty() ? "." : parent;
  std::error_code error;
  if (!fs::is_directory(folder, error)) throw InputError(fmt::format("{}: there is no folder '{}'", printable(file), printable(folder)));
  if (fs::is_directory(file, error)) throw InputError(fmt::format("{}: is a folder", printable(file)));
  probe_folder(folder, file);
}

bool are_same(const std::string& a, const std::string& b) {
  std::error_code error;
  const fs::path first = fs::weakly_canonical(a, error), second = fs::weakly_canonical(b, error);
  return same_file(a, b) || (!error && first == second);
}

void write_to_stdout(const std::string& text) {
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fputc('\n', stdout) != EOF;
  if (!written || std::fflush(stdout) != 0) {
    throw SystemError(fmt::format("standard output cannot be written: {}", std::generic_category().message(errno)));
  }
}

}  // namespace

void check_outputs(const std::vector<std::string>& outputs, const std::vector<std::string>& inputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const std::string& file = outputs[i];
    if (file.empty()) throw InputError("an output file has an empty name");
    if (file == "-" || is_special(file)) continue;
    for (const std::string& input : inputs) {
      if (are_same(file, input)) throw InputError(fmt::format("{}: is also an input; it would be overwritten", printable(file)));
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (are_same(file, outputs[j])) throw InputError(fmt::format("{}: is given as an output twice", printable(file)));
    }
    check_folder(file);
  }
}

void check_extension(const std::string& file, const std::vector<std::string>& extensions, const char* what) {
  if (std::find(extensions.begin(), extensions.end(), extension_of(file)) != extensions.end()) return;
  throw InputError(fmt::format("{}: {} ends in {}", printable(file), what, fmt::join(extensions, ", ")));
}

void check_placement_extension(const std::string& file) { check_extension(file, {".h5", ".tsv", ".json"}, "a placement file"); }

bool placement_needs_names(const std::string& file) { return extension_of(file) != ".h5"; }

void write_document(const std::string& file, const std::string& text) {
  if (file == "-") return write_to_stdout(text);
  write_atomically(file, [&](const std::string& temporary) {
    TextWriter writer(temporary, file);
    writer.append(text);
    writer.append("\n");
    writer.close();
  });
}

}  // namespace pardnn::cli
