#include "cli/output_files.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "pardnn/error.hpp"

namespace pardnn::cli {
namespace {

namespace fs = std::filesystem;

class OutputFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "pardnn_out_XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    std::ofstream(path("in.h5")) << "x";
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
};

TEST_F(OutputFilesTest, GoodOutputsLeaveNothingBehind) {
  check_outputs({path("a.h5"), path("b.tsv"), "-"}, {path("in.h5")});
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(OutputFilesTest, AnInputIsNoOutputByWhateverPath) {
  EXPECT_THROW(check_outputs({path("in.h5")}, {path("in.h5")}), InputError);
  EXPECT_THROW(check_outputs({folder_ + "/./in.h5"}, {path("in.h5")}), InputError);
  fs::create_symlink(path("in.h5"), path("link.h5"));
  EXPECT_THROW(check_outputs({path("link.h5")}, {path("in.h5")}), InputError);
  fs::create_hard_link(path("in.h5"), path("hard.h5"));
  EXPECT_THROW(check_outputs({path("hard.h5")}, {path("in.h5")}), InputError);
}

TEST_F(OutputFilesTest, TwiceTheSameOutputIsRefused) {
  EXPECT_THROW(check_outputs({path("a.h5"), folder_ + "/./a.h5"}, {}), InputError);
}

TEST_F(OutputFilesTest, TheFolderMustTakeFiles) {
  EXPECT_THROW(check_outputs({path("none/a.h5")}, {}), InputError);
  EXPECT_THROW(check_outputs({folder_}, {}), InputError);
  EXPECT_THROW(check_outputs({""}, {}), InputError);
  EXPECT_THROW(check_outputs({"/proc/self/a.h5"}, {}), SystemError);
}

TEST_F(OutputFilesTest, ExtensionsPickTheFormat) {
  EXPECT_NO_THROW(check_placement_extension("a.H5"));
  EXPECT_THROW(check_placement_extension("a.txt"), InputError);
  EXPECT_THROW(check_placement_extension("a"), InputError);
  EXPECT_FALSE(placement_needs_names("a.h5"));
  EXPECT_TRUE(placement_needs_names("a.tsv"));
  EXPECT_TRUE(placement_needs_names("a.json"));
}

TEST_F(OutputFilesTest, DocumentsEndWithALine) {
  write_document(path("r.json"), "{}");
  std::stringstream text;
  text << std::ifstream(path("r.json")).rdbuf();
  EXPECT_EQ(text.str(), "{}\n");
  EXPECT_THROW(write_document("/dev/full", "{}"), SystemError);
}

}  // namespace
}  // namespace pardnn::cli
