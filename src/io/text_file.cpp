#include "io/text_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "io/available_memory.hpp"
#include "pardnn/error.hpp"

namespace pardnn {

namespace {

std::string error_text(int code) { return std::error_code(code, std::generic_category()).message(); }

}  // namespace

void throw_system_error(const std::string& file, const char* what, int code) {
  throw SystemError(fmt::format("{}: {}: {}", printable(file, 300), what, error_text(code)));
}

Descriptor::~Descriptor() {
  if (fd_ >= 0) ::close(fd_);
}

int Descriptor::close() { return ::close(std::exchange(fd_, -1)) == 0 ? 0 : errno; }

std::string extension_of(const std::string& file) {
  std::string extension = std::filesystem::path(file).extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension;
}

std::size_t regular_file_size(const std::string& file, const std::string& expected) {
  const auto refuse = [&](const std::string& why) { throw InputError(fmt::format("{}: {}", printable(file, 300), why)); };
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) refuse(error_text(errno));
  if (S_ISDIR(status.st_mode)) refuse("is a directory, expected " + expected);
  if (!S_ISREG(status.st_mode)) refuse("is not a regular file, expected " + expected);
  if (::access(file.c_str(), R_OK) != 0) refuse(error_text(errno));
  return static_cast<std::size_t>(status.st_size);
}

std::string read_text_file(const std::string& file, const std::string& expected, std::size_t memory_per_byte) {
  const std::size_t size = regular_file_size(file, expected);
  if (size > available_memory() / memory_per_byte) {
    throw SystemError(fmt::format("{}: reading its {} bytes as text takes more memory than is left", printable(file, 300), size));
  }
  const Descriptor opened(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  if (opened.get() < 0) throw_system_error(file, "cannot be read", errno);
  std::string text(size, '\0');
  std::size_t have = 0;
  while (have < size) {
    const ssize_t got = ::read(opened.get(), text.data() + have, std::min(size - have, std::size_t{1} << 30));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_system_error(file, "cannot be read", errno);
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  text.resize(have);
  return text;
}

TextWriter::TextWriter(const std::string& file, const std::string& shown)
    : name_(shown), file_(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
  if (file_.get() < 0) throw_system_error(shown, "cannot be written", errno);
}

void TextWriter::flush() {
  std::size_t done = 0;
  while (done < buffer_.size()) {
    const ssize_t put = ::write(file_.get(), buffer_.data() + done, buffer_.size() - done);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw_system_error(name_, "cannot be written", errno);
    done += static_cast<std::size_t>(put);
  }
  buffer_.clear();
}

void TextWriter::close() {
  flush();
  if (const int code = file_.close(); code != 0) throw_system_error(name_, "cannot be written", code);
}

}  // namespace pardnn
