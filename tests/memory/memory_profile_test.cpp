#include "memory/memory_profile.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "pardnn/emulate.hpp"
#include "support/oracle.hpp"
#include "support/random_machines.hpp"

namespace pardnn {
namespace {

using test::GraphBuilder;

/// K devices, 1 byte takes 1 ns.
Machine byte_per_ns(DeviceId devices, Nanoseconds latency, Links links = Links::free) {
  Machine machine = homogeneous_machine(devices, kUnlimited, 1'000'000'000, latency);
  machine.links = links;
  return machine;
}

/// What is held on a device, as text: "buffer a [0,9) 5", in the order of (kind, owner, from).
class Held {
 public:
  Held(const GraphBuilder& builder, Machine machine, const std::vector<DeviceId>& file_device)
      : machine_(std::move(machine)), data_(builder.data()), graph_(data_), costs_(graph_, machine_), emulator_(costs_), tracker_(costs_),
        device_(graph_.to_internal(std::span(file_device))) {
    schedule_ = emulator_.run(device_, Policy::fifo);
    peaks_ = tracker_.track(device_, schedule_, emulator_.delivered());
  }
  Bytes peak(DeviceId d) const { return peaks_.peak[d]; }
  Nanoseconds peak_time(DeviceId d) const { return peaks_.peak_time[d]; }

  std::vector<std::string> on(DeviceId d) {
    std::vector<std::string> lines;
    tracker_.visit_holdings(device_, schedule_, emulator_.delivered(), [&](const Holding& holding) {
      if (holding.device == d) lines.push_back(line(holding));
    });
    std::sort(lines.begin(), lines.end());
    return lines;
  }

 private:
  std::string line(const Holding& holding) const {
    static constexpr const char* kNames[] = {"residual", "buffer", "copy", "workspace"};
    const std::string until = holding.to == kSumLimit ? "always" : std::to_string(holding.to);
    return std::string(kNames[static_cast<int>(holding.kind)]) + " " + std::string(data_.names[graph_.file_id(holding.owner)]) +
           " [" + std::to_string(holding.from) + "," + until + ") " + std::to_string(holding.bytes);
  }

  Machine machine_;
  GraphData data_;
  Graph graph_;
  CostModel costs_;
  Emulator emulator_;
  MemoryTracker tracker_;
  std::vector<DeviceId> device_;
  Schedule schedule_;
  MemoryPeaks peaks_;
};

using Lines = std::vector<std::string>;

// A buffer lives from its node's start to the end of its last local consumer; workspace while the node runs.
//
//   a(2) --4B--> b(3) --> c(1, control)       a [0,2), b [2,5), c [5,6) on one device; c's edge holds nothing of b.
//   mem a 4, b 6, c 1; temp b 10               sums: [0,2) 4, [2,5) 4 + 6 + 10 = 20, [5,6) 1
TEST(MemoryProfile, BufferLivesToItsLastConsumer) {
  GraphBuilder g;
  g.node("a", 2, 4).node("b", 3, 6, 10).node("c", 1, 1).edge("a", "b", 4).edge("b", "c", 0);
  Held held(g, byte_per_ns(1, 0), {0, 0, 0});
  EXPECT_EQ(held.on(0), (Lines{"buffer a [0,5) 4", "buffer b [2,5) 6", "buffer c [5,6) 1", "workspace b [2,5) 10"}));
  EXPECT_EQ(held.peak(0), 20);
  EXPECT_EQ(held.peak_time(0), 2);
}

// Views: v is a view of a, w of v: one buffer of a's 8 bytes, alive until the last consumer of any of them ends.
//
//   a(1) --8B--> v(1) --8B--> w(1)     a [0,1), v [1,2), then by id: w (ready 2) [2,3), slow by id later
//                  w --8B--> d(2)      d ready 3 runs [3,5)
// v and w have mem 8 of their own in the file: it must not be held twice.
TEST(MemoryProfile, ViewsShareTheBufferOfTheirBase) {
  GraphBuilder g;
  g.node("a", 1, 8).node("v", 1, 8).node("w", 1, 8).node("d", 2, 1);
  g.edge("a", "v", 8).edge("v", "w", 8).edge("w", "d", 8).alias("v", "a").alias("w", "v");
  Held held(g, byte_per_ns(1, 0), {0, 0, 0, 0});
  EXPECT_EQ(held.on(0), (Lines{"buffer a [0,5) 8", "buffer d [3,5) 1"}));
  EXPECT_EQ(held.peak(0), 9);
}

// A view that runs before its base: the buffer still starts with the base. v(1) [0,1), a(2) [1,3) by file id.
TEST(MemoryProfile, BufferStartsWithItsRoot) {
  GraphBuilder g;
  g.node("v", 1, 5).node("a", 2, 8).alias("v", "a");
  Held held(g, byte_per_ns(1, 0), {0, 0});
  EXPECT_EQ(held.on(0), (Lines{"buffer a [1,3) 8"}));
}

// A copy is taken when the tensor exists, not when it arrives, and lives until its consumer ends. The sender's buffer
// lives until delivery.
//
//   a(2) --5B--> b(3), latency 4: delivered at 2 + 4 + 5 = 11, b [11,14) on device 1.
TEST(MemoryProfile, CopyLivesFromProductionToItsConsumersEnd) {
  GraphBuilder g;
  g.node("a", 2, 7).node("b", 3, 1).edge("a", "b", 5);
  Held held(g, byte_per_ns(2, 4), {0, 1});
  EXPECT_EQ(held.on(0), (Lines{"buffer a [0,11) 7"}));
  EXPECT_EQ(held.on(1), (Lines{"buffer b [11,14) 1", "copy a [2,14) 5"}));
  EXPECT_EQ(held.peak(1), 6);
}

// One copy for each (output, device): the greatest bytes and the last consumer of that output.
//
//   a(1): out 0, 3B -> x(2), out 0, 6B -> y(1), out 1, 2B -> z(1), all on device 1; latency 0, free.
//   deliveries: x at 4, y at 7, z at 3. z [3,4), x [4,6), y [7,8).
TEST(MemoryProfile, OneCopyPerOutputAndDevice) {
  GraphBuilder g;
  g.node("a", 1, 0).node("x", 2).node("y", 1).node("z", 1);
  g.edge("a", "x", 3, 0).edge("a", "y", 6, 0).edge("a", "z", 2, 1);
  Held held(g, byte_per_ns(2, 0), {0, 1, 1, 1});
  EXPECT_EQ(held.on(1), (Lines{"copy a [1,4) 2", "copy a [1,8) 6"}));
  EXPECT_EQ(held.peak(1), 8);
}

// Under ports the sender holds its buffer until its own transfer is delivered, behind the other one in the port.
//
//   a(1) --10B--> x, b(1) --4B--> y: port of 0: a [1,11), b [11,15); latency 2: delivered at 13 and 17.
TEST(MemoryProfile, PortsKeepTheSendersBufferLonger) {
  GraphBuilder g;
  g.node("a", 1, 10).node("b", 1, 4).node("x", 1).node("y", 1).edge("a", "x", 10).edge("b", "y", 4);
  Held ports(g, byte_per_ns(2, 2, Links::ports), {0, 0, 1, 1});
  EXPECT_EQ(ports.on(0), (Lines{"buffer a [0,13) 10", "buffer b [1,17) 4"}));
  EXPECT_EQ(ports.on(1), (Lines{"copy a [1,14) 10", "copy b [2,18) 4"}));
  Held free(g, byte_per_ns(2, 2), {0, 0, 1, 1});
  EXPECT_EQ(free.on(0), (Lines{"buffer a [0,13) 10", "buffer b [1,8) 4"}));
}

// A run of length 0: the residual is there, nothing else has an interval.
TEST(MemoryProfile, ResidualCountsInARunOfLengthZero) {
  GraphBuilder g;
  g.node("w", 0, 12).node("n", 0, 100, 50).kind("w", NodeKind::residual);
  Held held(g, byte_per_ns(2, 0), {0, 0});
  EXPECT_EQ(held.on(0), (Lines{"residual w [0,always) 12"}));
  EXPECT_EQ(held.peak(0), 12);
  EXPECT_EQ(held.peak(1), 0);
}

// A residual on a device where nothing else ever happens counts too, and is not freed after its last consumer.
TEST(MemoryProfile, ResidualCountsAlways) {
  GraphBuilder g;
  g.node("w", 1, 12).node("x", 1, 3).node("y", 5, 20).edge("w", "x", 12).edge("x", "y", 3).kind("w", NodeKind::residual);
  Held held(g, byte_per_ns(2, 0), {0, 0, 0});
  EXPECT_EQ(held.on(0), (Lines{"buffer x [1,7) 3", "buffer y [2,7) 20", "residual w [0,always) 12"}));
  EXPECT_EQ(held.peak(0), 35);
}

// A reference node holds nothing of its own, also not while it runs (but its workspace); what it sends is a copy.
//
//   w residual 10; r mutates it (group with w), mem 99, temp 2; r(1) --6B--> c(1) on device 1, latency 0.
TEST(MemoryProfile, ReferenceHoldsNothing) {
  GraphBuilder g;
  g.node("w", 1, 10).node("r", 1, 99, 2).node("c", 1).edge("w", "r", 10).edge("r", "c", 6);
  g.kind("w", NodeKind::residual).kind("r", NodeKind::reference).colocate({"w", "r"});
  Held held(g, byte_per_ns(2, 0), {0, 0, 1});
  EXPECT_EQ(held.on(0), (Lines{"residual w [0,always) 10", "workspace r [1,2) 2"}));
  EXPECT_EQ(held.on(1), (Lines{"copy r [2,9) 6"}));
  EXPECT_EQ(held.peak(0), 12);
}

// Control edges hold nothing: not the sender's buffer until the arrival, and no copy.
TEST(MemoryProfile, ControlEdgeHoldsNothing) {
  GraphBuilder g;
  g.node("a", 2, 7).node("b", 3).edge("a", "b", 0);
  Held held(g, byte_per_ns(2, 4), {0, 1});
  EXPECT_EQ(held.on(0), (Lines{"buffer a [0,2) 7"}));
  EXPECT_EQ(held.on(1), Lines{});
  EXPECT_EQ(held.peak(1), 0);
}

// Half-open intervals: at 2 a's buffer is gone as b's begins.
TEST(MemoryProfile, WhatEndsMakesRoomForWhatBegins) {
  GraphBuilder g;
  g.node("a", 2, 7).node("b", 3, 5).edge("a", "b", 0);
  EXPECT_EQ(Held(g, byte_per_ns(1, 0), {0, 0}).peak(0), 7);
}

TEST(MemoryProfile, PeakTimeIsTheFirstMomentOfThePeak) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    test::RandomCase drawn = test::random_case(seed);
    test::TestRandom random(seed);
    drawn.device = test::random_placement(random, drawn.data, test::PlacementKind::respects_units, drawn.machine.num_devices());
    const Graph graph(drawn.data);
    const CostModel costs(graph, drawn.machine);
    Emulator emulator(costs);
    MemoryTracker tracker(costs);
    const std::vector<DeviceId> device = graph.to_internal(std::span<const DeviceId>(drawn.device));
    const Schedule& schedule = emulator.run(device, Policy::fifo);
    const MemoryPeaks peaks = tracker.track(device, schedule, emulator.delivered());
    std::vector<Holding> held;
    tracker.visit_holdings(device, schedule, emulator.delivered(), [&](const Holding& holding) { held.push_back(holding); });
    for (DeviceId d = 0; d < costs.num_devices(); ++d) {
      const auto sum_at = [&](Nanoseconds t) {
        Bytes sum = 0;
        for (const Holding& h : held) {
          if (h.device == d && h.from <= t && t < h.to) sum += h.bytes;
        }
        return sum;
      };
      EXPECT_EQ(sum_at(peaks.peak_time[d]), peaks.peak[d]);
      for (const Holding& h : held) {
        EXPECT_LE(sum_at(h.from), peaks.peak[d]);
        if (h.from < peaks.peak_time[d]) {
          EXPECT_LT(sum_at(h.from), peaks.peak[d]);
        }
      }
    }
  }
}

}  // namespace
}  // namespace pardnn
