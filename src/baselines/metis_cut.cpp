#include "baselines/metis_cut.hpp"

#include <metis.h>

#include <limits>
#include <string>
#include <vector>

#include "baselines/unit_graph.hpp"
#include "baselines/unit_walk.hpp"
#include "pardnn/error.hpp"

namespace pardnn {
namespace {

std::vector<idx_t> narrow(const std::vector<std::int64_t>& values) { return {values.begin(), values.end()}; }

std::vector<real_t> shares(const Machine& machine) {
  std::vector<real_t> share;
  for (const Device& device : machine.devices) {
    share.push_back(static_cast<real_t>(device.speed) / static_cast<real_t>(machine.total_speed()));
  }
  return share;
}

}  // namespace

Constructed metis_cut(const CostModel& costs) {
  // Sums of weights stay in 2^30, whatever idx_t is: results do not depend on how the library was built.
  const UnitGraph graph = unit_graph(costs.graph(), std::int64_t{1} << 30);
  std::vector<DeviceId> part;
  if (partition_trivially(costs, graph, part)) return placed_by_units(costs.graph(), part);
  require_index(graph, std::numeric_limits<idx_t>::max() / 2, "metis");

  idx_t vertices = static_cast<idx_t>(graph.num_units()), constraints = 1, parts = costs.num_devices(), cut = 0;
  std::vector<idx_t> offsets = narrow(graph.offsets), neighbours = narrow(graph.neighbours),
                     vertex_weights = narrow(graph.vertex_weights), edge_weights = narrow(graph.edge_weights);
  std::vector<real_t> share = shares(costs.machine());
  std::vector<idx_t> options(METIS_NOPTIONS), found(graph.num_units());
  METIS_SetDefaultOptions(options.data());
  options[METIS_OPTION_NUMBERING] = 0;
  options[METIS_OPTION_SEED] = 1;
  const int status = METIS_PartGraphKway(&vertices, &constraints, offsets.data(), neighbours.data(), vertex_weights.data(), nullptr,
                                         edge_weights.data(), &parts, costs.is_homogeneous() ? nullptr : share.data(), nullptr,
                                         options.data(), &cut, found.data());
  if (status != METIS_OK) throw SystemError("metis: METIS_PartGraphKway failed with status " + std::to_string(status));
  for (std::int64_t u = 0; u < graph.num_units(); ++u) {
    if (found[u] < 0 || found[u] >= parts) throw SystemError("metis: a vertex was left without a part");
    part[u] = static_cast<DeviceId>(found[u]);
  }
  return placed_by_units(costs.graph(), part);
}

}  // namespace pardnn
