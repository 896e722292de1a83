#include "ranks/mpi_program.hpp"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>
#include <unistd.h>

namespace pardnn::test {

namespace fs = std::filesystem;

std::vector<pid_t> ranks_of(pid_t parent) {
  std::vector<pid_t> found;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    // "pid (name) state ppid": the name of a rank has no blanks.
    std::istringstream stat(read_file(entry.path().string() + "/stat"));
    std::string pid, program, state;
    pid_t ppid = 0;
    if (stat >> pid >> program >> state >> ppid && ppid == parent && program == "(pardnn)" && state != "Z") found.push_back(std::stoi(pid));
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// More ranks than CPUs, and root in containers: mpirun wants to be told (D15 of the user reports). By environment, which other
/// launchers ignore.
void MpiTest::SetUp() {
  ProgramTest::SetUp();
  setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 1);
  setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 1);
  setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 1);
  setenv("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe", 1);
  setenv("OMPI_MCA_hwloc_base_binding_policy", "none", 1);
}

std::string MpiTest::mpirun(int ranks, const std::string& before) const {
  const std::string launcher = "exec " PARDNN_MPIEXEC " -n " + std::to_string(ranks) + " ";
  if (before.empty()) return launcher + "\"$0\" \"$@\"";
  return launcher + "sh -c '" + before + "; exec \"$0\" \"$@\"' \"$0\" \"$@\"";
}

std::vector<pid_t> MpiTest::wait_for_ranks(pid_t launcher, int ranks) const {
  const auto begin = Clock::now();
  while (seconds_since(begin) < 20) {
    const std::vector<pid_t> found = ranks_of(launcher);
    if (found.size() == static_cast<std::size_t>(ranks)) return found;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return {};
}

bool MpiTest::wait_for_file(const std::string& file, double seconds) const {
  const auto begin = Clock::now();
  while (!fs::exists(file) && seconds_since(begin) < seconds) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  return fs::exists(file);
}

std::string MpiTest::small_graph() const {
  const std::string file = path("small.h5");
  const Finished made = run({"generate", "random", "--nodes", "60", "--seed", "2", "-o", file, "-q"});
  if (made.code != 0) throw std::runtime_error(made.text());
  return file;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

int lines_with(const std::string& text, const std::string& part) {
  std::istringstream lines(text);
  int count = 0;
  for (std::string line; std::getline(lines, line);) count += line.find(part) != std::string::npos ? 1 : 0;
  return count;
}

}  // namespace pardnn::test
