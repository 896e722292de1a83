#include "io/available_memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>

namespace pardnn {

namespace {

constexpr std::size_t kUnknown = std::numeric_limits<std::size_t>::max();

/// The first number in `file`; nothing if there is none ("max").
std::optional<std::uint64_t> first_number(const std::string& file) {
  std::ifstream in(file);
  std::uint64_t value = 0;
  if (in >> value) return value;
  return std::nullopt;
}

/// The number after `key` in a file of "key value" lines.
std::optional<std::uint64_t> number_after(const std::string& file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string word;
    std::uint64_t value = 0;
    if (words >> word >> value && word == key) return value;
  }
  return std::nullopt;
}

std::size_t system_memory() {
  const auto kib = number_after("/proc/meminfo", "MemAvailable:");
  return kib ? static_cast<std::size_t>(*kib) * 1024 : kUnknown;
}

std::size_t left(std::uint64_t limit, std::uint64_t used, std::uint64_t droppable) {
  const std::uint64_t held = used - std::min(used, droppable);
  return static_cast<std::size_t>(limit - std::min(limit, held));
}

/// What one control group leaves of its own limit.
std::size_t group_memory(const std::string& folder, const char* limit_file, const char* usage_file, const char* cache_key) {
  const auto limit = first_number(folder + limit_file);
  const auto used = first_number(folder + usage_file);
  if (!limit || !used) return kUnknown;
  return left(*limit, *used, number_after(folder + "memory.stat", cache_key).value_or(0));
}

/// The path of this process's group below `root`, and all groups above it: a limit of any of them counts.
std::size_t groups_memory(const std::string& root, std::string path, const char* limit_file, const char* usage_file,
                          const char* cache_key) {
  std::size_t least = kUnknown;
  while (true) {
    const std::string folder = root + path + (path.empty() || path.back() != '/' ? "/" : "");
    least = std::min(least, group_memory(folder, limit_file, usage_file, cache_key));
    const std::size_t slash = path.find_last_of('/');
    if (path.empty() || slash == std::string::npos) return least;
    path.resize(slash);
  }
}

std::size_t control_group_memory() {
  std::size_t least = kUnknown;
  std::ifstream in("/proc/self/cgroup");
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      least = std::min(least, groups_memory("/sys/fs/cgroup", path, "memory.max", "memory.current", "inactive_file"));
    } else if (controllers.find("memory") != std::string::npos) {
      least = std::min(least, groups_memory("/sys/fs/cgroup/memory", path, "memory.limit_in_bytes", "memory.usage_in_bytes",
                                            "total_inactive_file"));
    }
  }
  return least;
}

std::size_t address_space() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnknown;
  const auto pages = first_number("/proc/self/statm");
  return left(limit.rlim_cur, pages.value_or(0) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)), 0);
}

}  // namespace

std::size_t available_memory() { return std::min({system_memory(), control_group_memory(), address_space()}); }

}  // namespace pardnn
