#include "report/emulated_run.hpp"

namespace pardnn {

EmulatedRun::EmulatedRun(const Graph& graph, const PackedNames& names, const Machine& machine, const Placement& placement, Policy policy)
    : costs_(graph, machine), names_(names), placement_(placement), policy_(policy), emulator_(costs_), memory_(costs_) {
  emulator_.run(placement.device, policy, placement.priority);
  peaks_ = &memory_.track(placement.device, emulator_.schedule(), emulator_.delivered());
}

std::string EmulatedRun::name(NodeId v) const {
  const std::int64_t id = graph().file_id(v);
  return names_.empty() ? std::to_string(id) : std::string(names_[id]);
}

}  // namespace pardnn
