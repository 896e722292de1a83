#include "plan/buckets.hpp"

#include <algorithm>
#include <tuple>

#include "pardnn/error.hpp"

namespace pardnn {

namespace {

struct Completed {
  DeviceId device;
  std::int32_t wave;
  Nanoseconds finish;
  std::int64_t rank;  // of its start
  const Gradient* gradient;
};

std::vector<Completed> by_completion(std::span<const Gradient> gradients, std::span<const DeviceId> device, const Schedule& run) {
  std::vector<std::int64_t> rank(run.start_order.size());
  for (std::size_t i = 0; i < rank.size(); ++i) rank[run.start_order[i]] = static_cast<std::int64_t>(i);
  std::vector<Completed> completed;
  for (const Gradient& gradient : gradients) {
    const NodeId v = gradient.node;
    completed.push_back({device[v], gradient.wave, run.finish[v], rank[v], &gradient});
  }
  std::sort(completed.begin(), completed.end(), [](const Completed& a, const Completed& b) {
    return std::tie(a.device, a.wave, a.finish, a.rank) < std::tie(b.device, b.wave, b.finish, b.rank);
  });
  return completed;
}

}  // namespace

std::vector<Bucket> fill_buckets(std::span<const Gradient> gradients, std::span<const DeviceId> device, const Schedule& run, Bytes limit) {
  std::vector<Bucket> buckets;
  const Completed* last = nullptr;
  const std::vector<Completed> completed = by_completion(gradients, device, run);
  for (const Completed& next : completed) {
    const bool goes_on = last != nullptr && last->device == next.device && last->wave == next.wave && buckets.back().bytes + next.gradient->bytes <= limit;
    if (!goes_on) buckets.push_back({next.device, {}, 0});
    buckets.back().gradients.push_back(next.gradient->node);
    buckets.back().bytes += next.gradient->bytes;
    last = &next;
  }
  return buckets;
}

Nanoseconds ring_all_reduce_time(const Machine& machine, std::span<const Slice> slices, DeviceId position, Bytes bytes) {
  const std::int64_t replicas = static_cast<std::int64_t>(slices.size());
  if (replicas < 2) return 0;
  BytesPerSecond bandwidth = INT64_MAX;
  Nanoseconds latency = 0;
  for (std::size_t r = 0; r < slices.size(); ++r) {
    const DeviceId from = slices[r][static_cast<std::size_t>(position)], to = slices[(r + 1) % slices.size()][static_cast<std::size_t>(position)];
    bandwidth = std::min(bandwidth, machine.bandwidth[machine.link(from, to)]);
    latency = std::max(latency, machine.latency[machine.link(from, to)]);
  }
  // ceil(2 (R - 1) bytes 10^9 / (R bandwidth)): the two factors of 10^9's product fit 64 bits each, the divisor may not.
  __extension__ using Wide = unsigned __int128;
  const Wide parts = Wide(2 * (replicas - 1)) * Wide(bytes);
  const Wide divisor = Wide(replicas) * Wide(bandwidth);
  const Wide whole = parts / divisor, rest = parts % divisor;  // parts * 10^9 itself might pass 128 bits
  const Wide wire = whole * Wide(1'000'000'000) + (rest * Wide(1'000'000'000) + divisor - 1) / divisor;
  const Wide total = wire + Wide(2 * (replicas - 1)) * Wide(latency);
  if (total >= Wide(kSumLimit)) throw InputError("machine: a gradient all-reduce over its links would take longer than 2^62 ns");
  return static_cast<Nanoseconds>(total);
}

}  // namespace pardnn
