/// The rules of graph-format.md, each a loop over flat arrays. `check_graph` of the public header runs all of them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pardnn/graph.hpp"

namespace pardnn {

/// Collects findings: at most a handful per rule, at most `limit` in all (0: no limit).
class Findings {
 public:
  explicit Findings(std::size_t limit) : limit_(limit) {}

  /// Starts a rule: its own count begins at 0.
  void begin_rule(std::string dataset);
  /// One offence against the rule. Past a handful, offences are only counted and `message` is never called.
  /// False once the total limit is reached: stop looking.
  template <typename Message>
  bool add(Message&& message) {
    if (full()) return false;
    if (++offences_ <= kPerRule) found_.push_back({dataset_, message()});
    return !full();
  }
  /// Ends the rule: one line says how many more there were.
  void end_rule();

  bool full() const { return limit_ != 0 && found_.size() >= limit_; }
  bool empty() const { return found_.empty(); }
  std::size_t size() const { return found_.size(); }
  std::vector<Finding> take() { return std::move(found_); }

 private:
  static constexpr std::int64_t kPerRule = 5;
  std::size_t limit_;
  std::string dataset_;
  std::int64_t offences_ = 0;
  std::vector<Finding> found_;
};

/// Gives the bytes of names [first, last), one after the other; valid until the next call.
using NameBytes = std::function<std::string_view(std::int64_t first, std::int64_t last)>;

/// Checks packed names: offsets from 0, never falling, ending at `num_bytes`; no name empty, invalid as UTF-8, with control
/// characters (C0, DEL, C1) or twice. Reads the bytes in blocks of a few MiB, once, and once more only if two names agree in their
/// 128-bit hash. O(bytes + V log V), 16 bytes of memory per name.
/// False if the offsets are broken, so that no name can be read by them.
bool check_names(std::span<const std::int64_t> offsets, std::int64_t num_bytes, const NameBytes& bytes, Findings& findings);

/// Why `name` may not be a node's name, or an empty string if it may.
std::string name_fault(std::string_view name);

/// One line for an InputError: "/dataset: message".
std::string to_line(const Finding& finding);

}  // namespace pardnn
