/// Which host of the machine file is which host of a job.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pardnn/machine.hpp"

namespace pardnn::cli {

/// A host of the machine, in the order in which the machine names it first.
struct PlanHost {
  int id = 0;        ///< "host" in the machine file
  std::string name;  ///< in the job; empty: not known
  std::vector<DeviceId> devices;
};

/// `names`: "a,b,c" or "a:8,b:8" (with the number of devices there), in the order in which the job has them: the first is the machine's first host.
/// Throws InputError that names the flag where counts differ, a name is empty, given twice, or a list that nobody has expanded ("node[1-4]").
std::vector<PlanHost> plan_hosts(const Machine& machine, const std::optional<std::string>& names);

}  // namespace pardnn::cli
