#include "support/oracle.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

namespace pardnn::test {

__extension__ using Wide = __int128;

static std::int64_t ceil_div(Wide a, Wide b) { return static_cast<std::int64_t>((a + b - 1) / b); }

/// An optional dataset: `otherwise` where it is absent.
static std::int64_t value(const std::vector<std::int64_t>& dataset, std::int64_t n, std::int64_t otherwise) {
  return dataset.empty() ? otherwise : dataset[n];
}

static bool is_residual(const GraphData& data, std::int64_t n) { return value(data.kind, n, 0) == 1; }
static bool is_normal(const GraphData& data, std::int64_t n) { return value(data.kind, n, 0) == 0; }

static std::int64_t root(const GraphData& data, std::int64_t n) {
  while (value(data.alias, n, -1) >= 0) n = data.alias[n];
  return n;
}

std::vector<OracleEdge> oracle_edges(const GraphData& data) {
  std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t>, Bytes> merged;
  const bool outputs = !data.output.empty();
  for (std::int64_t u = 0; u < data.num_nodes(); ++u) {
    for (std::int64_t e = data.indptr[u]; e < data.indptr[u + 1]; ++e) {
      const auto key = std::make_tuple(u, data.indices[e], outputs ? data.output[e] : 0);
      Bytes& bytes = merged[key];
      bytes = outputs ? std::max(bytes, data.bytes[e]) : bytes + data.bytes[e];
    }
  }
  std::vector<OracleEdge> edges;
  for (const auto& entry : merged) {
    edges.push_back({std::get<0>(entry.first), std::get<1>(entry.first), std::get<2>(entry.first), entry.second});
  }
  return edges;
}

Nanoseconds oracle_duration(const GraphData& data, const Machine& machine, std::int64_t node, DeviceId device) {
  return ceil_div(Wide(data.comp[node]) * 1'000'000, machine.devices[device].speed);
}

static Nanoseconds latency(const Machine& machine, DeviceId p, DeviceId q) {
  return machine.latency[static_cast<std::size_t>(p) * machine.devices.size() + static_cast<std::size_t>(q)];
}

static Nanoseconds on_the_wire(const Machine& machine, Bytes bytes, DeviceId p, DeviceId q) {
  return ceil_div(Wide(bytes) * 1'000'000'000,
                  machine.bandwidth[static_cast<std::size_t>(p) * machine.devices.size() + static_cast<std::size_t>(q)]);
}

Nanoseconds oracle_cost(const Machine& machine, Bytes bytes, DeviceId from, DeviceId to) {
  return from == to ? 0 : latency(machine, from, to) + on_the_wire(machine, bytes, from, to);
}

Nanoseconds oracle_mean_cost(const Machine& machine, Bytes bytes) {
  Wide sum = 0;
  std::int64_t pairs = 0;
  for (DeviceId p = 0; p < machine.num_devices(); ++p) {
    for (DeviceId q = 0; q < machine.num_devices(); ++q) {
      if (p == q) continue;
      sum += oracle_cost(machine, bytes, p, q);
      ++pairs;
    }
  }
  return pairs == 0 ? 0 : static_cast<Nanoseconds>(sum / pairs);
}

/// Longest path from each node to a sink, where a node costs `own[n]` and edge e costs `between[e]`: relaxed until
/// nothing changes.
static std::vector<std::int64_t> longest_tails(const std::vector<OracleEdge>& edges, const std::vector<std::int64_t>& own,
                                               const std::vector<std::int64_t>& between) {
  std::vector<std::int64_t> tail = own;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t e = 0; e < edges.size(); ++e) {
      const std::int64_t through = own[edges[e].from] + between[e] + tail[edges[e].to];
      if (through <= tail[edges[e].from]) continue;
      tail[edges[e].from] = through;
      changed = true;
    }
  }
  return tail;
}

static std::vector<std::int64_t> default_priority(const GraphData& data, const Machine& machine,
                                                  const std::vector<OracleEdge>& edges, const std::vector<DeviceId>& device) {
  std::vector<std::int64_t> own, between;
  for (std::int64_t n = 0; n < data.num_nodes(); ++n) own.push_back(oracle_duration(data, machine, n, device[n]));
  for (const OracleEdge& e : edges) between.push_back(oracle_cost(machine, e.bytes, device[e.from], device[e.to]));
  return longest_tails(edges, own, between);
}

namespace {

/// One emulated run, round by round.
class Stepper {
 public:
  Stepper(const GraphData& data, const Machine& machine, const std::vector<DeviceId>& device, Policy policy,
          const std::vector<std::int64_t>& priority)
      : data_(data), machine_(machine), device_(device), policy_(policy), edges_(oracle_edges(data)), n_(data.num_nodes()) {
    priority_ = priority.empty() ? default_priority(data, machine, edges_, device) : priority;
    run_.start.assign(n_, -1);
    run_.finish.assign(n_, -1);
    run_.ready.assign(n_, -1);
    run_.round.assign(n_, -1);
    run_.delivered.assign(edges_.size(), -1);
    entered_.assign(n_, false);
    completed_.assign(n_, false);
    queue_.resize(machine.devices.size());
    running_.assign(machine.devices.size(), -1);
    port_free_.assign(machine.devices.size(), 0);
  }

  OracleRun run() {
    Nanoseconds now = 0;
    do {
      while (one_round(now)) ++round_;
    } while (next_event(now));
    for (const bool done : completed_) {
      if (!done) throw std::logic_error("oracle: a node never ran");
    }
    for (const Nanoseconds finish : run_.finish) run_.makespan = std::max(run_.makespan, finish);
    return run_;
  }

 private:
  /// False if nothing changed.
  bool one_round(Nanoseconds now) {
    const bool completed = complete_all(now);
    const bool entered = enter_all(now);
    const bool started = start_all(now);
    return completed || entered || started;
  }

  bool complete_all(Nanoseconds now) {
    bool any = false;
    for (std::int64_t n = 0; n < n_; ++n) {
      const DeviceId p = device_[n];
      if (running_[p] != n || run_.finish[n] != now) continue;
      running_[p] = -1;
      completed_[n] = true;
      any = true;
      deliver(n);
    }
    return any;
  }

  void deliver(std::int64_t u) {
    const DeviceId p = device_[u];
    std::set<std::pair<DeviceId, std::int64_t>> transfers;
    for (std::size_t e = 0; e < edges_.size(); ++e) {
      if (edges_[e].from != u) continue;
      const DeviceId q = device_[edges_[e].to];
      run_.delivered[e] = run_.finish[u] + oracle_cost(machine_, edges_[e].bytes, p, q);
      if (q != p) transfers.emplace(q, edges_[e].output);
    }
    if (machine_.links == Links::free) return;
    for (const auto& transfer : transfers) send(u, transfer.first, transfer.second);
  }

  void send(std::int64_t u, DeviceId q, std::int64_t output) {
    const DeviceId p = device_[u];
    std::vector<std::size_t> carried;
    Bytes most = 0;
    for (std::size_t e = 0; e < edges_.size(); ++e) {
      if (edges_[e].from != u || edges_[e].output != output || device_[edges_[e].to] != q) continue;
      carried.push_back(e);
      most = std::max(most, edges_[e].bytes);
    }
    Nanoseconds leaves = run_.finish[u];
    if (most > 0) {
      leaves = std::max(run_.finish[u], port_free_[p]) + on_the_wire(machine_, most, p, q);
      port_free_[p] = leaves;
    }
    for (const std::size_t e : carried) run_.delivered[e] = leaves + latency(machine_, p, q);
  }

  /// The latest delivery over v's in-edges, -1 while one of them is not fixed.
  Nanoseconds ready_time(std::int64_t v) const {
    Nanoseconds ready = 0;
    for (std::size_t e = 0; e < edges_.size(); ++e) {
      if (edges_[e].to != v) continue;
      if (!completed_[edges_[e].from]) return -1;
      ready = std::max(ready, run_.delivered[e]);
    }
    return ready;
  }

  bool enter_all(Nanoseconds now) {
    bool any = false;
    for (std::int64_t v = 0; v < n_; ++v) {
      if (entered_[v]) continue;
      const Nanoseconds ready = ready_time(v);
      if (ready < 0 || ready > now) continue;
      run_.ready[v] = ready;
      queue_[device_[v]].push_back(v);
      entered_[v] = true;
      any = true;
    }
    return any;
  }

  bool goes_before(std::int64_t a, std::int64_t b) const {
    if (policy_ == Policy::fifo) return std::make_pair(run_.ready[a], a) < std::make_pair(run_.ready[b], b);
    return priority_[a] != priority_[b] ? priority_[a] > priority_[b] : a < b;
  }

  bool start_all(Nanoseconds now) {
    bool any = false;
    for (DeviceId d = 0; d < machine_.num_devices(); ++d) {
      std::vector<std::int64_t>& queue = queue_[d];
      if (running_[d] >= 0 || queue.empty()) continue;
      const auto head = std::min_element(queue.begin(), queue.end(),
                                         [this](std::int64_t a, std::int64_t b) { return goes_before(a, b); });
      const std::int64_t n = *head;
      queue.erase(head);
      running_[d] = n;
      run_.start[n] = now;
      run_.finish[n] = now + oracle_duration(data_, machine_, n, d);
      run_.round[n] = round_;
      any = true;
    }
    return any;
  }

  /// Moves `now` to the next event; false if there is none.
  bool next_event(Nanoseconds& now) const {
    Nanoseconds next = -1;
    const auto consider = [&](Nanoseconds time) {
      if (time > now && (next < 0 || time < next)) next = time;
    };
    for (const std::int64_t n : running_) {
      if (n >= 0) consider(run_.finish[n]);
    }
    for (std::int64_t v = 0; v < n_; ++v) {
      if (!entered_[v]) consider(ready_time(v));
    }
    if (next < 0) return false;
    now = next;
    return true;
  }

  const GraphData& data_;
  const Machine& machine_;
  const std::vector<DeviceId>& device_;
  Policy policy_;
  std::vector<OracleEdge> edges_;
  std::int64_t n_;
  std::vector<std::int64_t> priority_;
  OracleRun run_;
  std::vector<bool> entered_, completed_;
  std::vector<std::vector<std::int64_t>> queue_;
  std::vector<std::int64_t> running_;
  std::vector<Nanoseconds> port_free_;
  std::int64_t round_ = 0;
};

/// Bytes held on one device over [from, to).
struct Held {
  DeviceId device;
  Nanoseconds from, to;
  Bytes bytes;
};

/// Who holds what and when, rule by rule.
class Holdings {
 public:
  Holdings(const GraphData& data, const std::vector<DeviceId>& device, const OracleRun& run)
      : data_(data), device_(device), run_(run), edges_(oracle_edges(data)) {
    for (std::int64_t n = 0; n < data.num_nodes(); ++n) {
      if (root(data, n) == n && is_normal(data, n)) hold_buffer(n);
      hold_copies(n);
      held_.push_back({device[n], run.start[n], run.finish[n], value(data.temp, n, 0)});
    }
  }

  Bytes peak(DeviceId p) const {
    Bytes always = 0;
    for (std::int64_t n = 0; n < data_.num_nodes(); ++n) {
      if (is_residual(data_, n) && device_[n] == p) always += data_.mem[n];
    }
    Bytes most = always;
    for (const Held& moment : held_) most = std::max(most, always + sum_at(p, moment.from));
    return most;
  }

 private:
  /// Rule 1.
  void hold_buffer(std::int64_t buffer) {
    Nanoseconds until = 0;
    for (std::int64_t m = 0; m < data_.num_nodes(); ++m) {
      if (root(data_, m) == buffer) until = std::max(until, run_.finish[m]);
    }
    for (std::size_t e = 0; e < edges_.size(); ++e) {
      if (root(data_, edges_[e].from) != buffer || edges_[e].bytes == 0) continue;
      const bool here = device_[edges_[e].to] == device_[edges_[e].from];
      until = std::max(until, here ? run_.finish[edges_[e].to] : run_.delivered[e]);
    }
    held_.push_back({device_[buffer], run_.start[buffer], until, data_.mem[buffer]});
  }

  /// Rule 2.
  void hold_copies(std::int64_t m) {
    struct Copy {
      Bytes bytes = 0;
      Nanoseconds until = 0;
    };
    std::map<std::pair<DeviceId, std::int64_t>, Copy> copies;
    for (const OracleEdge& e : edges_) {
      if (e.from != m || e.bytes == 0 || device_[e.to] == device_[m]) continue;
      Copy& copy = copies[{device_[e.to], e.output}];
      copy.bytes = std::max(copy.bytes, e.bytes);
      copy.until = std::max(copy.until, run_.finish[e.to]);
    }
    for (const auto& entry : copies) held_.push_back({entry.first.first, run_.finish[m], entry.second.until, entry.second.bytes});
  }

  Bytes sum_at(DeviceId p, Nanoseconds time) const {
    Bytes sum = 0;
    for (const Held& h : held_) {
      if (h.device == p && h.from <= time && time < h.to) sum += h.bytes;
    }
    return sum;
  }

  const GraphData& data_;
  const std::vector<DeviceId>& device_;
  const OracleRun& run_;
  std::vector<OracleEdge> edges_;
  std::vector<Held> held_;
};

}  // namespace

std::vector<std::int64_t> OracleRun::start_order(const std::vector<DeviceId>& device) const {
  std::vector<std::tuple<Nanoseconds, std::int64_t, DeviceId, std::int64_t>> keys;
  for (std::size_t n = 0; n < start.size(); ++n) keys.emplace_back(start[n], round[n], device[n], static_cast<std::int64_t>(n));
  std::sort(keys.begin(), keys.end());
  std::vector<std::int64_t> order;
  for (const auto& key : keys) order.push_back(std::get<3>(key));
  return order;
}

OracleRun oracle_run(const GraphData& data, const Machine& machine, const std::vector<DeviceId>& device, Policy policy,
                     const std::vector<std::int64_t>& priority) {
  return Stepper(data, machine, device, policy, priority).run();
}

std::vector<Bytes> oracle_peaks(const GraphData& data, const Machine& machine, const std::vector<DeviceId>& device,
                                const OracleRun& run) {
  const Holdings holdings(data, device, run);
  std::vector<Bytes> peaks;
  for (DeviceId p = 0; p < machine.num_devices(); ++p) peaks.push_back(holdings.peak(p));
  return peaks;
}

static bool breaks_colocation(const GraphData& data, const std::vector<DeviceId>& device) {
  for (std::int64_t a = 0; a < data.num_nodes(); ++a) {
    for (std::int64_t b = 0; b < a; ++b) {
      const std::int64_t group = value(data.colocation, a, -1);
      if (group >= 0 && group == data.colocation[b] && device[a] != device[b]) return true;
    }
  }
  return false;
}

static bool breaks_alias(const GraphData& data, const std::vector<DeviceId>& device) {
  for (std::int64_t n = 0; n < data.num_nodes(); ++n) {
    if (device[n] != device[root(data, n)]) return true;
  }
  return false;
}

static bool breaks_fixed(const GraphData& data, const std::vector<DeviceId>& device) {
  for (std::int64_t n = 0; n < data.num_nodes(); ++n) {
    const std::int64_t fixed = value(data.fixed, n, -1);
    if (fixed >= 0 && fixed != device[n]) return true;
  }
  return false;
}

std::vector<std::string> oracle_broken(const GraphData& data, const std::vector<DeviceId>& device) {
  std::vector<std::string> broken;
  if (breaks_colocation(data, device)) broken.push_back("colocation");
  if (breaks_alias(data, device)) broken.push_back("alias");
  if (breaks_fixed(data, device)) broken.push_back("fixed");
  return broken;
}

Nanoseconds oracle_lower_bound(const GraphData& data, const Machine& machine) {
  Wide comp = 0, speeds = 0;
  DeviceId fastest = 0;
  for (DeviceId d = 0; d < machine.num_devices(); ++d) {
    speeds += machine.devices[d].speed;
    if (machine.devices[d].speed > machine.devices[fastest].speed) fastest = d;
  }
  std::vector<std::int64_t> own;
  for (std::int64_t n = 0; n < data.num_nodes(); ++n) {
    comp += data.comp[n];
    own.push_back(oracle_duration(data, machine, n, fastest));
  }
  const std::vector<OracleEdge> edges = oracle_edges(data);
  std::int64_t bound = ceil_div(comp * 1'000'000, speeds);
  for (const std::int64_t tail : longest_tails(edges, own, std::vector<std::int64_t>(edges.size(), 0))) bound = std::max(bound, tail);
  return bound;
}

Bytes oracle_usable(const Machine& machine, DeviceId device) {
  const Bytes capacity = machine.devices[device].capacity;
  if (capacity >= kUnlimited) return kUnlimited;
  return static_cast<Bytes>(Wide(capacity) * (1'000'000 - machine.headroom) / 1'000'000);
}

OracleVerdict oracle_judge(const GraphData& data, const Machine& machine, const std::vector<DeviceId>& device, Policy policy,
                           const std::vector<std::int64_t>& priority) {
  OracleVerdict verdict;
  verdict.run = oracle_run(data, machine, device, policy, priority);
  verdict.lower_bound = oracle_lower_bound(data, machine);
  verdict.broken = oracle_broken(data, device);
  verdict.peak = oracle_peaks(data, machine, device, verdict.run);
  verdict.feasible = verdict.broken.empty();
  verdict.busy.assign(machine.devices.size(), 0);
  verdict.nodes.assign(machine.devices.size(), 0);
  verdict.parameter_free.assign(machine.devices.size(), true);
  for (DeviceId d = 0; d < machine.num_devices(); ++d) {
    verdict.usable.push_back(oracle_usable(machine, d));
    verdict.overflow.push_back(std::max<Bytes>(0, verdict.peak[d] - verdict.usable[d]));
    if (verdict.overflow[d] > 0) verdict.feasible = false;
  }
  for (std::int64_t n = 0; n < data.num_nodes(); ++n) {
    verdict.busy[device[n]] += oracle_duration(data, machine, n, device[n]);
    ++verdict.nodes[device[n]];
    if (is_residual(data, n)) verdict.parameter_free[device[n]] = false;
  }
  for (const OracleEdge& e : oracle_edges(data)) {
    if (device[e.from] == device[e.to]) continue;
    ++verdict.cut_edges;
    verdict.cut_bytes += e.bytes;
  }
  return verdict;
}

}  // namespace pardnn::test
