#include "mapping/level_loads.hpp"

#include <algorithm>

namespace pardnn {

LevelLoads::LevelLoads(const CostModel& costs, const LevelIndex& index)
    : costs_(&costs), index_(&index), blocks_((index.size() + kBlock - 1) / kBlock, costs.num_devices()) {
  device_at_.assign(index.size(), kNoDevice);
  work_at_.assign(index.size(), 0);
}

void LevelLoads::add(NodeId v, DeviceId d) {
  const std::int64_t position = index_->position(v);
  device_at_[position] = d;
  work_at_[position] = costs_->duration(v, d);
  blocks_.add(position / kBlock, d, work_at_[position]);
}

void LevelLoads::remove(NodeId v) {
  const std::int64_t position = index_->position(v);
  blocks_.add(position / kBlock, device_at_[position], -work_at_[position]);
  device_at_[position] = kNoDevice;
  work_at_[position] = 0;
}

void LevelLoads::add_positions(std::int64_t from, std::int64_t to, int sign, std::span<Nanoseconds> loads) const {
  for (std::int64_t i = from; i < to; ++i) {
    if (device_at_[i] != kNoDevice) loads[device_at_[i]] += sign * work_at_[i];
  }
}

void LevelLoads::loads(LevelRange range, std::span<Nanoseconds> loads) const {
  std::fill(loads.begin(), loads.end(), 0);
  const std::int64_t first = range.from / kBlock, last = range.to / kBlock;
  if (first == last) return add_positions(range.from, range.to, 1, loads);
  blocks_.add_range(first, last, loads);
  add_positions(first * kBlock, range.from, -1, loads);
  add_positions(last * kBlock, range.to, 1, loads);
}

}  // namespace pardnn
