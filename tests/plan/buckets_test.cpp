#include "plan/buckets.hpp"

#include <gtest/gtest.h>

namespace pardnn {
namespace {

/// Nodes 0 .. n-1 that start and finish in this order.
Schedule in_order(NodeId nodes) {
  Schedule run;
  for (NodeId v = 0; v < nodes; ++v) {
    run.start.push_back(v * 10);
    run.finish.push_back(v * 10 + 10);
    run.start_order.push_back(v);
  }
  return run;
}

TEST(FillBuckets, InOrderOfCompletionUpToTheLimit) {
  const std::vector<Gradient> gradients{{0, 40, 0}, {1, 60, 0}, {2, 1, 0}, {3, 500, 0}, {4, 10, 0}, {5, 10, 0}};
  const std::vector<DeviceId> device{0, 0, 0, 0, 0, 1};
  const std::vector<Bucket> buckets = fill_buckets(gradients, device, in_order(6), 100);
  ASSERT_EQ(buckets.size(), 5u);
  EXPECT_EQ(buckets[0].gradients, (std::vector<NodeId>{0, 1}));
  EXPECT_EQ(buckets[0].bytes, 100);
  EXPECT_EQ(buckets[1].gradients, (std::vector<NodeId>{2}));
  EXPECT_EQ(buckets[2].gradients, (std::vector<NodeId>{3})) << "larger than a bucket: alone";
  EXPECT_EQ(buckets[3].gradients, (std::vector<NodeId>{4}));
  EXPECT_EQ(buckets[4].device, 1);
}

TEST(FillBuckets, OneWaveEach) {
  const std::vector<Gradient> gradients{{0, 1, 0}, {1, 1, 1}, {2, 1, 0}};
  const std::vector<Bucket> buckets = fill_buckets(gradients, std::vector<DeviceId>{0, 0, 0}, in_order(3), 100);
  ASSERT_EQ(buckets.size(), 2u);
  EXPECT_EQ(buckets[0].gradients, (std::vector<NodeId>{0, 2}));
  EXPECT_EQ(buckets[1].gradients, (std::vector<NodeId>{1}));
}

TEST(RingAllReduceTime, WorkedByHand) {
  Machine machine = homogeneous_machine(4, kUnlimited, 1'000'000'000, 7);
  machine.latency[machine.link(1, 2)] = 11;
  machine.bandwidth[machine.link(3, 0)] = 500'000'000;
  const std::vector<Slice> four{{0}, {1}, {2}, {3}};
  // 2 * 3 / 4 of 1000 bytes at half a byte per ns: 3000 ns; 6 steps of 11 ns.
  EXPECT_EQ(ring_all_reduce_time(machine, four, 0, 1000), 3000 + 66);
  EXPECT_EQ(ring_all_reduce_time(machine, std::vector<Slice>{{0}, {1}}, 0, 1000), 1000 + 14);
  // ceil(2 * 2 / 3 of 1000) = ceil(1333.3) at one byte per ns: the ring 0, 1, 2 does not use 3 -> 0.
  EXPECT_EQ(ring_all_reduce_time(machine, std::vector<Slice>{{0}, {1}, {2}}, 0, 1000), 1334 + 44);
  EXPECT_EQ(ring_all_reduce_time(machine, std::vector<Slice>{{0}}, 0, 1000), 0);
  EXPECT_EQ(ring_all_reduce_time(machine, std::vector<Slice>{{0, 2}, {1, 3}}, 1, 0), 14) << "no bytes: steps of the latency alone";
}

TEST(RingAllReduceTime, ExactForHugeBuckets) {
  const Machine machine = homogeneous_machine(2, kUnlimited, 3'000'000'000, 0);
  const Bytes bytes = std::int64_t{1} << 60;
  EXPECT_EQ(ring_all_reduce_time(machine, std::vector<Slice>{{0}, {1}}, 0, bytes), (bytes + 2) / 3);
}

}  // namespace
}  // namespace pardnn
