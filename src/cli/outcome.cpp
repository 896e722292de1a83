#include "cli/outcome.hpp"

namespace pardnn::cli {

double Outcome::ratio() const {
  if (evaluation.lower_bound == 0) return evaluation.makespan == 0 ? 1.0 : 0.0;
  return static_cast<double>(evaluation.makespan) / static_cast<double>(evaluation.lower_bound);
}

std::vector<std::string> Outcome::empty_devices() const {
  std::vector<std::string> names;
  for (const DeviceReport& device : evaluation.devices) {
    if (device.nodes == 0) names.push_back(device.name);
  }
  return names;
}

// floor(c r / 10^6) >= p with r = 10^6 - h holds exactly from c = ceil(10^6 p / r) on.
Bytes capacity_for(Bytes peak, Millionths headroom) { return ceil_mul_div(peak, kOne, kOne - headroom); }

}  // namespace pardnn::cli
