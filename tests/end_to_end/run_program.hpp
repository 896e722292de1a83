/// Runs the built executable as a user would, in a folder of its own.
#pragma once

#include <filesystem>
#include <string>
#include <sys/types.h>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "pardnn/graph.hpp"

namespace pardnn::test {

struct Finished {
  int code = -1;    ///< exit code; -1 if a signal ended it
  int signal = 0;   ///< the signal that ended it, 0 if none
  std::string out;  ///< standard output
  std::string err;  ///< standard error

  /// Standard output as JSON; fails if it is anything else.
  nlohmann::json json() const { return nlohmann::json::parse(out); }
  /// "exit 3: <standard error>", for failure messages.
  std::string text() const;
};

std::string read_file(const std::string& file);
void write_file(const std::string& file, const std::string& text);

/// One of the real graphs in tests/data, by the start of its name.
std::string real_graph(const std::string& name);

/// A test with a temporary folder.
class ProgramTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  /// Writes `data` to NAME.h5 and gives the path.
  std::string graph(const std::string& name, const GraphData& data) const;
  /// Files in the folder, hidden ones too, sorted.
  std::vector<std::string> files() const;

  /// `setup`: shell commands before the program, such as "ulimit -f 8".
  Finished run(const std::vector<std::string>& arguments, const std::string& setup = "") const;
  pid_t start(const std::vector<std::string>& arguments, const std::string& setup = "") const;
  Finished wait(pid_t process) const;

 private:
  std::string folder_;
};

}  // namespace pardnn::test
