#include "baselines/memory_topo.hpp"

#include <gtest/gtest.h>

#include "baselines/unit_walk.hpp"
#include "construct/plan_checks.hpp"

namespace pardnn {
namespace {

// Chain of 10 bytes each on two devices: share 20 + largest 10 = 30, so three fit on the first.
TEST(MemoryTopo, FillsUpToTheShareAndTheLargestUnit) {
  GraphData data = test::chain(4);
  data.mem.assign(4, 10);
  const Graph graph(std::move(data));
  const Machine machine = test::byte_per_ns(2);
  EXPECT_EQ(memory_topo(CostModel(graph, machine)).device, (std::vector<DeviceId>{0, 0, 0, 1}));
}

// Usable memory of 20 (headroom 0) is less than the share: two fit. What fits nowhere goes to the last device.
TEST(MemoryTopo, NeverPassesUsableMemoryButOnTheLastDevice) {
  GraphData data = test::chain(5);
  data.mem.assign(5, 10);
  const Graph graph(std::move(data));
  Machine machine = homogeneous_machine(2, 20);
  machine.headroom = 0;
  EXPECT_EQ(memory_topo(CostModel(graph, machine)).device, (std::vector<DeviceId>{0, 0, 1, 1, 1}));
}

// The unit {A, B} holds 3 + 4 and, at one time, the greater of 5 and 2; views and reference nodes hold nothing.
TEST(MemoryTopo, UnitMemory) {
  const test::GraphBuilder builder = test::GraphBuilder()
                                         .node("A", 1, 3, 5).node("B", 1, 4, 2).node("V", 0, 9).node("W", 0, 8).node("R", 1, 7)
                                         .edge("A", "V", 1).alias("V", "A").colocate({"A", "B"})
                                         .kind("W", NodeKind::residual).kind("R", NodeKind::reference).alias("R", "W");
  const Graph graph(builder.data());
  std::vector<Bytes> by_file(5);
  const std::vector<Bytes> memory = unit_memory(graph);
  for (NodeId v = 0; v < 5; ++v) by_file[graph.file_id(v)] = memory[graph.unit(v)];
  EXPECT_EQ(by_file, (std::vector<Bytes>{12, 12, 12, 8, 8}));
}

}  // namespace
}  // namespace pardnn
