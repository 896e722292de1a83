#include "report/chrome_trace.hpp"

#include <functional>
#include <queue>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "io/text_file.hpp"
#include "pardnn/io.hpp"

namespace pardnn {

namespace {

constexpr int kCompute = 0;

/// `text` as a JSON string; what is no UTF-8 is replaced.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string microseconds(Nanoseconds time) { return fmt::format("{}.{:03}", time / 1000, time % 1000); }

/// Threads for the transfers of one device such that none overlap: the lowest that is free when one begins.
class Lanes {
 public:
  /// The lane of a transfer over [begins, ends); transfers come by increasing begin. O(log lanes).
  int take(Nanoseconds begins, Nanoseconds ends) {
    while (!busy_.empty() && busy_.top().first <= begins) {
      free_.push(busy_.top().second);
      busy_.pop();
    }
    int lane = count_ + 1;
    if (free_.empty()) {
      ++count_;
    } else {
      lane = free_.top();
      free_.pop();
    }
    busy_.emplace(ends, lane);
    return lane;
  }
  int count() const { return count_; }

 private:
  using Busy = std::pair<Nanoseconds, int>;
  std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy_;
  std::priority_queue<int, std::vector<int>, std::greater<>> free_;
  int count_ = 0;
};

class TraceWriter {
 public:
  TraceWriter(TextWriter& out, const EmulatedRun& run) : out_(out), run_(run), lanes_(static_cast<std::size_t>(run.machine().num_devices())) {}

  void write() {
    out_.append("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    for (DeviceId d = 0; d < run_.machine().num_devices(); ++d) describe(d);
    for (const NodeId v : run_.schedule().start_order) {
      add_node(v);
      visit_transfers(run_, v, sent_, [this](const Transfer& transfer) { add_transfer(transfer); });
    }
    for (DeviceId d = 0; d < run_.machine().num_devices(); ++d) add_memory(d);
    out_.append(fmt::format("\n],\"otherData\":{{\"graph\":{},\"fingerprint\":{},\"makespan_ns\":{}}}}}\n", quoted(run_.graph().name()),
                            quoted(run_.graph().fingerprint()), run_.schedule().makespan));
  }

 private:
  static int process(DeviceId d) { return d + 1; }

  void event(const std::string& text) {
    if (!first_) out_.append(",\n");
    first_ = false;
    out_.append(text);
  }

  void name_thread(DeviceId d, int thread, const std::string& name) {
    event(fmt::format(R"({{"name":"thread_name","ph":"M","pid":{},"tid":{},"args":{{"name":"{}"}}}})", process(d), thread, name));
    event(fmt::format(R"({{"name":"thread_sort_index","ph":"M","pid":{},"tid":{},"args":{{"sort_index":{}}}}})", process(d), thread, thread));
  }

  void describe(DeviceId d) {
    event(fmt::format(R"({{"name":"process_name","ph":"M","pid":{},"args":{{"name":{}}}}})", process(d), quoted(run_.machine().devices[static_cast<std::size_t>(d)].name)));
    event(fmt::format(R"({{"name":"process_sort_index","ph":"M","pid":{},"args":{{"sort_index":{}}}}})", process(d), d));
    name_thread(d, kCompute, "compute");
  }

  void add_node(NodeId v) {
    event(fmt::format(R"({{"name":{},"cat":"node","ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"args":{{"node":{}}}}})", quoted(run_.name(v)), process(run_.device(v)), kCompute,
                      microseconds(run_.start(v)), microseconds(run_.finish(v) - run_.start(v)), run_.graph().file_id(v)));
  }

  /// An arrow between the slices that begin at these times on these threads.
  void flow(const char* category, DeviceId from, int from_thread, Nanoseconds from_time, DeviceId to, int to_thread, Nanoseconds to_time) {
    const std::int64_t id = flows_++;
    event(fmt::format(R"({{"name":"{0}","cat":"{0}","ph":"s","id":{1},"pid":{2},"tid":{3},"ts":{4}}})", category, id, process(from), from_thread, microseconds(from_time)));
    event(fmt::format(R"({{"name":"{0}","cat":"{0}","ph":"f","bp":"e","id":{1},"pid":{2},"tid":{3},"ts":{4}}})", category, id, process(to), to_thread, microseconds(to_time)));
  }

  void add_transfer(const Transfer& transfer) {
    const DeviceId p = transfer.from, q = transfer.to;
    int thread = kCompute;
    Nanoseconds begins = run_.start(transfer.node);
    const char* category = transfer.bytes > 0 ? "tensor" : "control";
    if (transfer.bytes > 0) {
      thread = lane_of(transfer);
      begins = transfer.begins;
      event(fmt::format(R"({{"name":{},"cat":"transfer","ph":"X","pid":{},"tid":{},"ts":{},"dur":{},"args":{{"node":{},"bytes":{},"to":{}}}}})", quoted(run_.name(transfer.node)),
                        process(p), thread, microseconds(begins), microseconds(transfer.ends - begins), run_.graph().file_id(transfer.node), transfer.bytes,
                        quoted(run_.machine().devices[static_cast<std::size_t>(q)].name)));
      flow(category, p, kCompute, run_.start(transfer.node), p, thread, begins);
    }
    for (const EdgeId e : transfer.edges) flow(category, p, thread, begins, q, kCompute, run_.start(run_.graph().target(e)));
  }

  int lane_of(const Transfer& transfer) {
    Lanes& lanes = lanes_[static_cast<std::size_t>(transfer.from)];
    const int known = lanes.count();
    const int lane = lanes.take(transfer.begins, transfer.ends);
    if (lane > known) name_thread(transfer.from, lane, run_.delivered().empty() ? lane == 1 ? "copies" : fmt::format("copies {}", lane) : "port");
    return lane;
  }

  void counter(const char* name, DeviceId d, Nanoseconds time, Bytes bytes) {
    event(fmt::format(R"({{"name":"{}","ph":"C","pid":{},"ts":{},"args":{{"bytes":{}}}}})", name, process(d), microseconds(time), bytes));
  }

  void add_memory(DeviceId d) {
    run_.memory().visit_levels(d, [&](Nanoseconds time, Bytes bytes) { counter("memory", d, time, bytes); });
    const Bytes usable = run_.machine().usable(d);
    if (usable >= kUnlimited) return;
    for (const Nanoseconds time : {Nanoseconds{0}, run_.schedule().makespan}) counter("usable memory", d, time, usable);
  }

  TextWriter& out_;
  const EmulatedRun& run_;
  std::vector<Lanes> lanes_;
  std::vector<EdgeId> sent_;
  std::int64_t flows_ = 0;
  bool first_ = true;
};

}  // namespace

void write_chrome_trace(const std::string& file, const EmulatedRun& run) {
  write_atomically(file, [&](const std::string& temporary) {
    TextWriter out(temporary, file);
    TraceWriter(out, run).write();
    out.close();
  });
}

}  // namespace pardnn
