/// The least time in which one device can do given jobs: Jackson's preemptive schedule.
#pragma once

#include <vector>

#include "pardnn/units.hpp"

namespace pardnn {

/// A node as one device sees it.
struct Job {
  Nanoseconds head;  ///< earliest start
  Nanoseconds work;  ///< duration
  Nanoseconds tail;  ///< least time from its end to the end of all
};

/// Least max(end + tail) over all schedules of `jobs` on one device, even if they could be interrupted: the one that always
/// goes on with the longest tail reaches it (J. R. Jackson, 1955; preemptive form by J. Carlier, EJOR 11, 1982). `jobs` is
/// sorted by head. 0 without jobs. O(n log n).
Nanoseconds one_device_bound(std::vector<Job>& jobs);

}  // namespace pardnn
