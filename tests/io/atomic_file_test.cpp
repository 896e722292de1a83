// A file is the old one or the new one, whatever fails. Rows C3 and C20 of the user reports.
#include "io/atomic_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>

#include "files.hpp"
#include "io/text_file.hpp"
#include "pardnn/io.hpp"

namespace pardnn::test {
namespace {

void write_text(const std::string& path, const std::string& shown, const std::string& text) {
  TextWriter out(path, shown);
  out.append(text);
  out.close();
}

void replace(const std::string& file, const std::string& text) {
  write_atomically(file, [&](const std::string& temporary) { write_text(temporary, file, text); });
}

TEST(AtomicFile, ReplacesTheOldFile) {
  const TempFolder folder;
  replace(folder / "f.tsv", "one");
  EXPECT_EQ(slurp(folder / "f.tsv"), "one");
  replace(folder / "f.tsv", "two");
  EXPECT_EQ(slurp(folder / "f.tsv"), "two");
  EXPECT_EQ(folder.content(), std::vector<std::string>{"f.tsv"});
}

TEST(AtomicFile, TemporaryIsInTheSameFolderWithTheSameExtension) {
  const TempFolder folder;
  write_atomically(folder / "f.tsv", [&](const std::string& temporary) {
    const std::filesystem::path path(temporary);
    EXPECT_EQ(path.parent_path(), folder.path());
    EXPECT_EQ(path.extension(), ".tsv");
    EXPECT_NE(temporary, folder / "f.tsv");
  });
}

TEST(AtomicFile, FailureKeepsTheOldFileAndRemovesTheTemporary) {
  const TempFolder folder;
  replace(folder / "f", "old");
  EXPECT_THROW(write_atomically(folder / "f", [&](const std::string& temporary) {
    write_text(temporary, temporary, "half");
    throw std::runtime_error("stopped");
  }), std::runtime_error);
  EXPECT_EQ(slurp(folder / "f"), "old");
  EXPECT_EQ(folder.content(), std::vector<std::string>{"f"});
}

TEST(AtomicFile, KillInTheMiddleKeepsTheOldFile) {
  const TempFolder folder;
  replace(folder / "f", "old");
  const auto child = [&] {
    write_atomically(folder / "f", [&](const std::string& temporary) {
      write_text(temporary, temporary, "half");
      raise(SIGKILL);
    });
  };
  EXPECT_EXIT(child(), testing::KilledBySignal(SIGKILL), "");
  EXPECT_EQ(slurp(folder / "f"), "old");
  replace(folder / "f", "new");
  EXPECT_EQ(slurp(folder / "f"), "new");
}

TEST(AtomicFile, KeepsModeAndSymbolicLink) {
  const TempFolder folder;
  replace(folder / "real", "old");
  ASSERT_EQ(chmod((folder / "real").c_str(), 0640), 0);
  std::filesystem::create_symlink("real", folder / "link");
  replace(folder / "link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(slurp(folder / "real"), "new");
  struct stat status {};
  ASSERT_EQ(stat((folder / "real").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
}

TEST(AtomicFile, NewFileHasTheUsualMode) {
  const TempFolder folder;
  const mode_t mask = umask(027);
  replace(folder / "f", "x");
  umask(mask);
  struct stat status {};
  ASSERT_EQ(stat((folder / "f").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
}

TEST(AtomicFile, FolderThatIsNotThereIsASystemError) {
  const TempFolder folder;
  EXPECT_SAYS(system_error([&] { replace(folder / "none/f", "x"); }), "No such file or directory");
  EXPECT_SAYS(system_error([&] { replace(folder.path(), "x"); }), "Is a directory");
}

TEST(AtomicFile, FolderThatTakesNoFileIsASystemError) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write anywhere";
  const TempFolder folder;
  replace(folder / "f", "old");
  ASSERT_EQ(chmod(folder.path().c_str(), 0555), 0);
  EXPECT_SAYS(system_error([&] { replace(folder / "f", "new"); }), "Permission denied");
  ASSERT_EQ(chmod(folder.path().c_str(), 0755), 0);
  EXPECT_EQ(slurp(folder / "f"), "old");
}

TEST(AtomicFile, FullDiskIsASystemErrorWithItsCause) {
  EXPECT_SAYS(system_error([] { replace("/dev/full", "x"); }), "/dev/full: cannot be written: No space left on device");
  const TempFolder folder;
  replace(folder / "f", "old");
  const auto child = [&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::string text = system_error([&] { replace(folder / "f", std::string(5000, 'x')); });
    _exit(text.find("File too large") != std::string::npos ? 0 : 1);
  };
  EXPECT_EXIT(child(), testing::ExitedWithCode(0), "");
  EXPECT_EQ(slurp(folder / "f"), "old");
  EXPECT_EQ(folder.content(), std::vector<std::string>{"f"});
}

TEST(SameFile, SeesThroughLinksAndSpellings) {
  const TempFolder folder;
  spill(folder / "a", "x");
  spill(folder / "b", "x");
  std::filesystem::create_symlink("a", folder / "soft");
  std::filesystem::create_hard_link(folder / "a", folder / "hard");
  EXPECT_TRUE(same_file(folder / "a", folder / "a"));
  EXPECT_TRUE(same_file(folder / "a", folder / "./a"));
  EXPECT_TRUE(same_file(folder / "a", folder / "soft"));
  EXPECT_TRUE(same_file(folder / "a", folder / "hard"));
  EXPECT_FALSE(same_file(folder / "a", folder / "b"));
  EXPECT_FALSE(same_file(folder / "none", folder / "none"));
}

TEST(TextFile, IsReadWholeOrRefusedInOneLine) {
  const TempFolder folder;
  const std::string text = std::string("a\0b\r\n", 5) + std::string(3 << 20, 'x');
  write_text(folder / "f", folder / "f", text);
  EXPECT_EQ(read_text_file(folder / "f", "text"), text);
  EXPECT_SAYS(input_error([&] { read_text_file(folder.path(), "text"); }), "is a directory, expected text");
  EXPECT_SAYS(input_error([&] { read_text_file(folder / "none", "text"); }), "No such file or directory");
  EXPECT_SAYS(system_error([&] { read_text_file(folder / "f", "text", std::size_t{1} << 40); }), "takes more memory than is left");
}

TEST(TextFile, ExtensionIsInLowerCase) {
  EXPECT_EQ(extension_of("a/b.H5"), ".h5");
  EXPECT_EQ(extension_of("a.b/c"), "");
  EXPECT_EQ(extension_of("x.tar.json"), ".json");
}

}  // namespace
}  // namespace pardnn::test
