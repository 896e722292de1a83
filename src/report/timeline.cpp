#include "report/timeline.hpp"

#include <algorithm>

namespace pardnn {

namespace {

/// Adds v to the last block of its device, or begins a new one.
void add_node(const EmulatedRun& run, NodeId v, Nanoseconds resolution, std::vector<Block>& blocks) {
  const Nanoseconds start = run.start(v), finish = run.finish(v), duration = finish - start;
  const bool joins = !blocks.empty() && duration < resolution && blocks.back().ends - blocks.back().begins < resolution && start - blocks.back().ends < resolution;
  if (!joins) {
    blocks.push_back({start, finish, duration, v, 1});
    return;
  }
  Block& block = blocks.back();
  block.ends = finish;
  block.busy += duration;
  block.nodes += 1;
  if (duration > run.finish(block.longest) - run.start(block.longest)) block.longest = v;
}

std::int64_t fill(const EmulatedRun& run, Timeline& timeline) {
  for (std::vector<Block>& blocks : timeline.blocks) blocks.clear();
  for (const NodeId v : run.schedule().start_order) {
    if (run.finish(v) > run.start(v)) add_node(run, v, timeline.resolution, timeline.blocks[static_cast<std::size_t>(run.device(v))]);
  }
  std::int64_t count = 0;
  for (const std::vector<Block>& blocks : timeline.blocks) count += static_cast<std::int64_t>(blocks.size());
  return count;
}

}  // namespace

Timeline make_timeline(const EmulatedRun& run, std::int64_t budget) {
  Timeline timeline;
  timeline.blocks.resize(static_cast<std::size_t>(run.machine().num_devices()));
  const Nanoseconds makespan = run.schedule().makespan;
  for (int halvings = 20; fill(run, timeline) > budget && halvings >= 0; --halvings) timeline.resolution = std::max<Nanoseconds>(makespan >> halvings, 1);
  return timeline;
}

std::vector<std::pair<Nanoseconds, Bytes>> memory_curve(const EmulatedRun& run, DeviceId d, std::int64_t budget) {
  std::vector<std::pair<Nanoseconds, Bytes>> points;
  std::int64_t changes = 0;
  run.memory().visit_levels(d, [&](Nanoseconds, Bytes) { ++changes; });
  const Nanoseconds step = changes <= budget ? 0 : std::max<Nanoseconds>(1, 2 * run.schedule().makespan / budget);
  // The first value stays, and of each stretch of `step` the greatest and the last.
  Nanoseconds until = -1;
  std::size_t greatest = 0;
  run.memory().visit_levels(d, [&](Nanoseconds time, Bytes held) {
    if (step == 0 || time >= until) {
      if (step > 0 && !points.empty()) until = (time / step + 1) * step;
      greatest = points.size();
      points.emplace_back(time, held);
      return;
    }
    if (held > points[greatest].second) {
      points.resize(greatest + 1);
      points[greatest] = {time, held};
    } else if (points.size() == greatest + 1) {
      points.emplace_back(time, held);
    } else {
      points.back() = {time, held};
    }
  });
  return points;
}

}  // namespace pardnn
