#include "construct/list_scheduler.hpp"

#include "construct/eil.hpp"
#include "construct/etf.hpp"
#include "construct/heft.hpp"
#include "levels/weighted_levels.hpp"

namespace pardnn {
namespace {

std::string millionths_text(Millionths value) {
  std::string text = std::to_string(value / kOne);
  if (value % kOne == 0) return text;
  std::string rest = std::to_string(kOne + value % kOne).substr(1);
  rest.erase(rest.find_last_not_of('0') + 1);
  return text + "." + rest;
}

}  // namespace

std::string variant_name(const ListOptions& options) {
  std::string name = options.method == ListMethod::heft ? "heft" : options.method == ListMethod::etf ? "etf" : "eil";
  if (options.lazy_sources) name += "-lazy";
  if (options.comm_weight != kOne) name.append("-c").append(millionths_text(options.comm_weight));
  if (options.lookahead != 0) name.append("-a").append(millionths_text(options.lookahead));
  if (options.co_inputs != 0) name.append("-i").append(millionths_text(options.co_inputs));
  if (options.reserve != 0) name.append("-r").append(millionths_text(options.reserve));
  if (options.heir_through != ListOptions{}.heir_through) name.append("-t").append(millionths_text(options.heir_through));
  if (options.queue_estimate == QueueEstimate::plan) name += "-plan";
  if (options.device_ties == DeviceTies::latest_input) name += "-near";
  if (options.decide_first == DecideFirst::lower_file_id) name += "-id";
  if (options.dispatch == Dispatch::bottom_level) name += "-dbl";
  if (options.favourite_children) name += "-fav";
  if (options.ports) name += "-ports";
  if (options.port_price != 0) name.append("-p").append(millionths_text(options.port_price));
  if (options.stay != 0) name.append("-s").append(millionths_text(options.stay));
  if (!options.devices.empty()) name.append("-d").append(std::to_string(options.devices.size()));
  if (!options.budget.empty()) name += "-mem";
  return name;
}

Constructed construct_list(const CostModel& costs, const ListOptions& options) {
  switch (options.method) {
    case ListMethod::heft: return heft(costs, options);
    case ListMethod::etf: return etf(costs, options);
    case ListMethod::eil: break;
  }
  return eil(costs, options);
}

std::vector<Constructed> construct_with_feedback(const CostModel& costs, const ListOptions& options, int rounds) {
  std::vector<Constructed> plans;
  plans.push_back(construct_list(costs, options));
  for (int r = 0; r < rounds; ++r) {
    const std::vector<Nanoseconds> bottom = placed_bottom_levels(costs, plans.back().device);
    ListOptions again = options;
    again.bottom_levels = bottom;
    again.order = nullptr;
    again.foreseen = plans.back().device;
    plans.push_back(construct_list(costs, again));
  }
  return plans;
}

}  // namespace pardnn
