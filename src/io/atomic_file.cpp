#include "io/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <functional>

#include "io/text_file.hpp"
#include "pardnn/io.hpp"

namespace pardnn {

namespace {

[[noreturn]] void fail(const std::string& file, const char* what, int code) { throw_system_error(file, what, code); }

std::string folder_of(const std::string& file) {
  const std::string folder = std::filesystem::path(file).parent_path().string();
  return folder.empty() ? "." : folder;
}

/// Where the bytes should go: through symbolic links, so that a link stays a link.
std::string final_path(const std::string& file) {
  std::error_code ignored;
  if (!std::filesystem::is_symlink(file, ignored)) return file;
  std::error_code error;
  const auto target = std::filesystem::weakly_canonical(file, error);
  return error ? file : target.string();
}

/// Makes an empty file of a fresh name beside `file`, so that the rename stays on one file system. It gets the mode of the file
/// that it will replace, or the usual one. The ending of `file` is kept: writers look at it.
std::string make_temporary(const std::string& file) {
  const std::filesystem::path path(file);
  const std::string stem = folder_of(file) + "/." + path.stem().string().substr(0, 100);
  for (int attempt = 0;; ++attempt) {
    const std::string name = fmt::format("{}.{}-{}{}", stem, ::getpid(), attempt, path.extension().string());
    const Descriptor made(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (made.get() < 0 && errno == EEXIST && attempt < 10'000) continue;
    if (made.get() < 0) fail(file, "cannot be written, its folder takes no new file", errno);
    struct stat replaced {};
    if (::stat(file.c_str(), &replaced) == 0) static_cast<void>(::fchmod(made.get(), replaced.st_mode & 07777));
    return name;
  }
}

void sync_file(const std::string& path, const std::string& shown) {
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail(shown, "cannot be opened to sync it", errno);
  if (::fsync(file.get()) != 0) fail(shown, "cannot be written to disk", errno);
  if (const int code = file.close(); code != 0) fail(shown, "cannot be written to disk", code);
}

/// After this the rename survives a power cut. Some file systems cannot sync a folder: that is no error of the write.
void sync_folder(const std::string& folder) {
  const Descriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.get() >= 0) static_cast<void>(::fsync(opened.get()));
}

/// "/dev/stdout" and pipes have no old content to keep and cannot be renamed onto: they are written as they are.
bool is_special(const std::string& file) {
  struct stat status {};
  return ::stat(file.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

}  // namespace

AtomicFile::AtomicFile(const std::string& file) : shown_(file), target_(file), temporary_(file), special_(is_special(file)) {
  if (special_) return;
  target_ = final_path(file);
  std::error_code ignored;
  if (std::filesystem::is_directory(target_, ignored)) fail(file, "cannot be written", EISDIR);
  temporary_ = make_temporary(target_);
}

AtomicFile::~AtomicFile() {
  if (!special_ && !temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::commit() {
  if (special_) return;
  sync_file(temporary_, shown_);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail(shown_, "cannot be replaced", errno);
  temporary_.clear();
  sync_folder(folder_of(target_));
}

void write_atomically(const std::string& file, const std::function<void(const std::string& temporary)>& write) {
  AtomicFile atomic(file);
  write(atomic.temporary());
  atomic.commit();
}

bool same_file(const std::string& a, const std::string& b) {
  struct stat first {}, second {};
  return ::stat(a.c_str(), &first) == 0 && ::stat(b.c_str(), &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

}  // namespace pardnn
