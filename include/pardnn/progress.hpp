/// How the library tells how far it is. It never prints by itself.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pardnn {

/// Receives stages as they begin, advance and end. Called from one thread at a time. The default ignores everything.
class Progress {
 public:
  virtual ~Progress() = default;
  /// `steps`: how many steps the stage has, 0 if unknown.
  virtual void stage_begins(std::string_view /*name*/, std::int64_t /*steps*/) {}
  virtual void stage_reaches(std::int64_t /*step*/) {}
  virtual void stage_ends() {}
  /// One line worth telling the user (a warning, what was decided).
  virtual void note(std::string_view /*line*/) {}
};

struct StageTime {
  std::string name;
  double seconds = 0;
};

}  // namespace pardnn
