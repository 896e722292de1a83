#include "baselines/list_baselines.hpp"

#include "construct/list_scheduler.hpp"

namespace pardnn {
namespace {

ListOptions plain(ListMethod method) {
  ListOptions options;
  options.method = method;
  return options;
}

ListOptions lazy(ListMethod method) {
  ListOptions options = plain(method);
  options.lazy_sources = true;
  return options;
}

ListOptions within_memory(const Machine& machine) {
  ListOptions options = plain(ListMethod::etf);
  for (DeviceId d = 0; d < machine.num_devices(); ++d) options.budget.push_back(machine.usable(d));
  return options;
}

}  // namespace

Constructed plain_heft(const CostModel& costs) { return construct_list(costs, plain(ListMethod::heft)); }
Constructed plain_etf(const CostModel& costs) { return construct_list(costs, plain(ListMethod::etf)); }
Constructed lazy_heft(const CostModel& costs) { return construct_list(costs, lazy(ListMethod::heft)); }
Constructed lazy_etf(const CostModel& costs) { return construct_list(costs, lazy(ListMethod::etf)); }

Constructed best_eil(const CostModel& costs) {
  ListOptions options = lazy(ListMethod::eil);
  options.comm_weight = options.lookahead = kOne / 2;
  return construct_list(costs, options);
}

Constructed memory_etf(const CostModel& costs) { return construct_list(costs, within_memory(costs.machine())); }

Constructed memory_sct(const CostModel& costs) {
  ListOptions options = within_memory(costs.machine());
  options.favourite_children = true;
  return construct_list(costs, options);
}

}  // namespace pardnn
