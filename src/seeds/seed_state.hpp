/// How far a run of many seeds is: which are done, and the best of them. What a checkpoint keeps.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "search/candidate.hpp"

namespace pardnn {

/// A set of seeds, by their index 0, 1, ... in the run, as ranges.
class SeedSet {
 public:
  /// Adds [first, last]. O(log ranges) and the ranges that it swallows.
  void add(std::int64_t first, std::int64_t last);
  void add(std::int64_t index) { add(index, index); }
  bool contains(std::int64_t index) const;
  std::int64_t count() const { return count_; }
  /// Greatest index, -1 if empty.
  std::int64_t greatest() const { return ranges_.empty() ? -1 : ranges_.rbegin()->second; }
  /// First and last index of each range, increasing, never adjacent.
  const std::map<std::int64_t, std::int64_t>& ranges() const { return ranges_; }
  friend bool operator==(const SeedSet&, const SeedSet&) = default;

 private:
  std::map<std::int64_t, std::int64_t> ranges_;
  std::int64_t count_ = 0;
};

/// What one seed led to.
struct Seeded {
  std::int64_t index = 0;
  Candidate candidate;
};

/// The order of results: feasible, makespan, peak bytes (score.hpp), then the lower seed. Total, so no result depends on who is asked first.
inline bool is_better(const Seeded& a, const Seeded& b) {
  if (!(a.candidate.score == b.candidate.score)) return a.candidate.score < b.candidate.score;
  return a.index < b.index;
}

/// Keeps the better of `best` and `other` in `best`.
void keep_better(std::optional<Seeded>& best, Seeded other);

struct SeedState {
  SeedSet done;
  /// Best of those that are done.
  std::optional<Seeded> best;
};

}  // namespace pardnn
