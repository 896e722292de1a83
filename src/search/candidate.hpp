/// A placement on its way through the search.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "judge/score.hpp"
#include "pardnn/ids.hpp"

namespace pardnn {

struct Candidate {
  std::vector<DeviceId> device;        ///< V
  std::vector<std::int64_t> priority;  ///< V under Policy::priority, or empty (bottom levels of the placed graph)
  Score score;
  std::string origin;                  ///< the start and what improved it, for people
  bool within_budget = false;          ///< placed by a constructor that kept to a memory budget, as far as it could
};

}  // namespace pardnn
