#include "end_to_end/run_program.hpp"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <spawn.h>
#include <sstream>
#include <stdexcept>
#include <sys/wait.h>

#include "pardnn/io.hpp"

extern char** environ;

namespace pardnn::test {

namespace fs = std::filesystem;

std::string Finished::text() const { return (signal != 0 ? "signal " + std::to_string(signal) : "exit " + std::to_string(code)) + ": " + err; }

std::string read_file(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

void write_file(const std::string& file, const std::string& text) {
  std::ofstream stream(file, std::ios::binary);
  stream << text;
  if (!stream.flush()) throw std::runtime_error("cannot write " + file);
}

std::string real_graph(const std::string& name) {
  for (const auto& entry : fs::directory_iterator(PARDNN_TEST_DATA)) {
    if (entry.path().filename().string().rfind(name, 0) == 0) return entry.path().string();
  }
  throw std::runtime_error("no test graph named " + name);
}

void ProgramTest::SetUp() {
  std::string pattern = testing::TempDir() + "pardnn_program_XXXXXX";
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  folder_ = pattern;
  fs::create_directory(folder_ + "/work");
  fs::create_directory(folder_ + "/streams");
  folder_ += "/work";
}

void ProgramTest::TearDown() { fs::remove_all(fs::path(folder_).parent_path()); }

std::string ProgramTest::graph(const std::string& name, const GraphData& data) const {
  const std::string file = path(name + ".h5");
  write_graph_data(file, data);
  return file;
}

std::vector<std::string> ProgramTest::files() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder_)) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

pid_t ProgramTest::start(const std::vector<std::string>& arguments, const std::string& setup) const {
  const std::string script = (setup.empty() ? "" : setup + "; ") + "exec \"$0\" \"$@\"";
  std::vector<std::string> words{"sh", "-c", script, PARDNN_PROGRAM};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  const std::string streams = fs::path(folder_).parent_path().string() + "/streams/";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, (streams + "out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_addopen(&actions, 2, (streams + "err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  pid_t process = -1;
  const int error = posix_spawn(&process, "/bin/sh", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error("cannot start the program");
  return process;
}

Finished ProgramTest::wait(pid_t process) const {
  int status = 0;
  if (waitpid(process, &status, 0) != process) throw std::runtime_error("cannot wait for the program");
  Finished finished;
  if (WIFEXITED(status)) finished.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) finished.signal = WTERMSIG(status);
  const std::string streams = fs::path(folder_).parent_path().string() + "/streams/";
  finished.out = read_file(streams + "out");
  finished.err = read_file(streams + "err");
  return finished;
}

Finished ProgramTest::run(const std::vector<std::string>& arguments, const std::string& setup) const { return wait(start(arguments, setup)); }

}  // namespace pardnn::test
