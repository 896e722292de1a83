#include "cli/chrome_trace.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "io/text_file.hpp"
#include "pardnn/io.hpp"

namespace pardnn::cli {

namespace {

/// `text` as a JSON string; what is no UTF-8 is replaced.
std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string microseconds(Nanoseconds time) { return fmt::format("{}.{:03}", time / 1000, time % 1000); }

std::string slice(const LoadedGraph& loaded, const Placement& placement, const Schedule& schedule, NodeId v) {
  const std::int64_t id = loaded.graph.file_id(v);
  const std::string name = loaded.names.empty() ? std::to_string(id) : std::string(loaded.names[id]);
  return fmt::format(R"({{"name":{},"ph":"X","pid":0,"tid":{},"ts":{},"dur":{},"args":{{"node":{}}}}})", quoted(name), placement.device[static_cast<std::size_t>(v)],
                     microseconds(schedule.start[static_cast<std::size_t>(v)]),
                     microseconds(schedule.finish[static_cast<std::size_t>(v)] - schedule.start[static_cast<std::size_t>(v)]), id);
}

void write_events(TextWriter& out, const LoadedGraph& loaded, const Machine& machine, const Placement& placement, const Schedule& schedule) {
  out.append("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
  out.append(fmt::format(R"({{"name":"process_name","ph":"M","pid":0,"args":{{"name":{}}}}})", quoted(machine.name)));
  for (DeviceId d = 0; d < machine.num_devices(); ++d) {
    out.append(fmt::format(",\n" R"({{"name":"thread_name","ph":"M","pid":0,"tid":{},"args":{{"name":{}}}}})", d,
                           quoted(machine.devices[static_cast<std::size_t>(d)].name)));
  }
  for (const NodeId v : schedule.start_order) {
    out.append(",\n");
    out.append(slice(loaded, placement, schedule, v));
  }
  out.append("\n]}\n");
}

}  // namespace

void write_chrome_trace(const std::string& file, const LoadedGraph& loaded, const Machine& machine, const Placement& placement, const Schedule& schedule) {
  write_atomically(file, [&](const std::string& temporary) {
    TextWriter out(temporary, file);
    write_events(out, loaded, machine, placement, schedule);
    out.close();
  });
}

}  // namespace pardnn::cli
