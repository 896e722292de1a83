#include "baselines/scotch_cut.hpp"

#include <cstdint>
#include <cstdio>  // scotch.h needs FILE

#include <scotch.h>

#include <limits>
#include <string>
#include <vector>

#include "baselines/unit_graph.hpp"
#include "baselines/unit_walk.hpp"
#include "pardnn/error.hpp"

namespace pardnn {
namespace {

void check(int status, const char* call) {
  if (status != 0) throw SystemError(std::string("scotch: ") + call + " failed");
}

std::vector<SCOTCH_Num> narrow(const std::vector<std::int64_t>& values) { return {values.begin(), values.end()}; }

/// Owns a graph, an architecture and a strategy of Scotch.
class ScotchJob {
 public:
  ScotchJob() {
    check(SCOTCH_graphInit(&graph), "SCOTCH_graphInit");
    check(SCOTCH_archInit(&devices), "SCOTCH_archInit");
    check(SCOTCH_stratInit(&strategy), "SCOTCH_stratInit");
  }
  ~ScotchJob() {
    SCOTCH_stratExit(&strategy);
    SCOTCH_archExit(&devices);
    SCOTCH_graphExit(&graph);
  }
  ScotchJob(const ScotchJob&) = delete;
  ScotchJob& operator=(const ScotchJob&) = delete;

  SCOTCH_Graph graph;
  SCOTCH_Arch devices;
  SCOTCH_Strat strategy;
};

/// Speeds as small integers: Scotch adds and multiplies them with loads.
std::vector<SCOTCH_Num> speed_weights(const Machine& machine) {
  std::vector<SCOTCH_Num> weights;
  for (const Device& device : machine.devices) {
    weights.push_back(static_cast<SCOTCH_Num>(1 + device.speed * 99 / machine.fastest_speed()));
  }
  return weights;
}

#if SCOTCH_VERSION >= 7
/// Binds the graph to a context of one thread with deterministic algorithms.
class OneThread {
 public:
  explicit OneThread(SCOTCH_Graph& graph) {
    check(SCOTCH_contextInit(&context_), "SCOTCH_contextInit");
    check(SCOTCH_contextThreadSpawn(&context_, 1, nullptr), "SCOTCH_contextThreadSpawn");
    check(SCOTCH_contextOptionSetNum(&context_, SCOTCH_OPTIONNUMDETERMINISTIC, 1), "SCOTCH_contextOptionSetNum");
    check(SCOTCH_contextRandomClone(&context_), "SCOTCH_contextRandomClone");
    SCOTCH_contextRandomSeed(&context_, 1);
    SCOTCH_contextRandomReset(&context_);
    check(SCOTCH_graphInit(&graph_), "SCOTCH_graphInit");
    check(SCOTCH_contextBindGraph(&context_, &graph, &graph_), "SCOTCH_contextBindGraph");
  }
  ~OneThread() {
    SCOTCH_graphExit(&graph_);
    SCOTCH_contextExit(&context_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
  SCOTCH_Graph* graph() { return &graph_; }

 private:
  SCOTCH_Context context_;
  SCOTCH_Graph graph_;
};
#else
class OneThread {
 public:
  explicit OneThread(SCOTCH_Graph& graph) : graph_(&graph) {
    SCOTCH_randomSeed(1);
    SCOTCH_randomReset();
  }
  SCOTCH_Graph* graph() { return graph_; }

 private:
  SCOTCH_Graph* graph_;
};
#endif

}  // namespace

Constructed scotch_cut(const CostModel& costs) {
  // Sums of weights stay in 2^28, whatever SCOTCH_Num is: results do not depend on how the library was built.
  const UnitGraph graph = unit_graph(costs.graph(), std::int64_t{1} << 28);
  std::vector<DeviceId> part;
  if (partition_trivially(costs, graph, part)) return placed_by_units(costs.graph(), part);
  require_index(graph, std::numeric_limits<SCOTCH_Num>::max() / 2, "scotch");

  const std::vector<SCOTCH_Num> offsets = narrow(graph.offsets), neighbours = narrow(graph.neighbours),
                                vertex_weights = narrow(graph.vertex_weights), edge_weights = narrow(graph.edge_weights);
  const std::vector<SCOTCH_Num> speeds = speed_weights(costs.machine());
  std::vector<SCOTCH_Num> found(graph.num_units(), -1);
  for (UnitId u = 0; u < costs.graph().num_units(); ++u) found[u] = costs.graph().unit_fixed(u);

  ScotchJob job;
  check(SCOTCH_graphBuild(&job.graph, 0, static_cast<SCOTCH_Num>(graph.num_units()), offsets.data(), nullptr, vertex_weights.data(),
                          nullptr, static_cast<SCOTCH_Num>(graph.neighbours.size()), neighbours.data(), edge_weights.data()),
        "SCOTCH_graphBuild");
  check(SCOTCH_archCmpltw(&job.devices, costs.num_devices(), speeds.data()), "SCOTCH_archCmpltw");
  OneThread bound(job.graph);
  check(SCOTCH_graphMapFixed(bound.graph(), &job.devices, &job.strategy, found.data()), "SCOTCH_graphMapFixed");
  for (std::int64_t u = 0; u < graph.num_units(); ++u) {
    if (found[u] < 0 || found[u] >= costs.num_devices()) throw SystemError("scotch: a vertex was left without a part");
    part[u] = static_cast<DeviceId>(found[u]);
  }
  return placed_by_units(costs.graph(), part);
}

}  // namespace pardnn
