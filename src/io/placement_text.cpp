#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "io/json_text.hpp"
#include "io/placement_formats.hpp"
#include "io/text_file.hpp"

namespace pardnn {

// ---------------------------------------------------------------------------------------------------- TSV

namespace {

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  if (result.ec != std::errc{} || result.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Takes one line; what is wrong, or an empty string.
std::string take_line(std::string_view line, NamedDevices& devices) {
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  const std::size_t tab = line.find('\t');
  if (tab == std::string_view::npos) return fmt::format("expected 'name<TAB>device', found '{}'", printable(line));
  const std::string_view number = line.substr(tab + 1);
  const auto device = whole_number(number);
  if (!device) return fmt::format("node '{}': device '{}' is not a whole number", printable(line.substr(0, tab)), printable(number));
  return devices.assign(line.substr(0, tab), *device);
}

}  // namespace

PlacementFile read_tsv_placement(const std::string& file, const PlacedGraph& graph) {
  const std::string text = read_text_file(file, "a placement, lines of 'name<TAB>device'");
  NamedDevices devices(graph);
  std::string_view rest = text;
  for (std::int64_t line = 1; !rest.empty(); ++line) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string fault = take_line(rest.substr(0, end), devices);
    if (!fault.empty()) refuse_placement(file, fmt::format("line {}: {}", line, fault));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  if (const std::string fault = devices.missing(); !fault.empty()) refuse_placement(file, fault);
  PlacementFile placement;
  placement.device = devices.take();
  return placement;
}

void write_tsv_placement(const std::string& file, const std::string& shown, const PlacementFile& placement, const PackedNames& names) {
  TextWriter out(file, shown);
  std::string buffer;
  for (std::size_t n = 0; n < placement.device.size(); ++n) {
    out.append(name_of(names, static_cast<std::int64_t>(n), buffer));
    out.append(fmt::format("\t{}\n", placement.device[n]));
  }
  out.close();
}

// ---------------------------------------------------------------------------------------------------- JSON

namespace {

/// Takes a placement from the parser's events, so that no tree is built and no repeated name is lost.
/// Known places: the top level, "graph" and "placement"; everything else is skipped, so that the format can grow.
class PlacementEvents : public nlohmann::json_sax<nlohmann::json> {
 public:
  PlacementEvents(PlacementFile& placement, NamedDevices& devices) : placement_(placement), devices_(devices) {}

  const std::string& fault() const { return fault_; }
  bool has_placement() const { return has_placement_; }
  bool has_format() const { return has_format_; }
  bool has_version() const { return seen_.count("version") != 0; }

  bool null() override { return value(false); }
  bool boolean(bool given) override {
    if (depth_ == 1 && top_ == "feasible") {
      placement_.feasible = given;
      return true;
    }
    return value(false);
  }
  bool number_integer(number_integer_t given) override { return number(given); }
  bool number_unsigned(number_unsigned_t given) override {
    if (depth_ == 1 && top_ == "seed") {
      placement_.seed = given;
      return true;
    }
    if (given > static_cast<number_unsigned_t>(INT64_MAX)) return refuse(fmt::format("{}: {} is out of range", place(), given));
    return number(static_cast<std::int64_t>(given));
  }
  bool number_float(number_float_t, const string_t& text) override {
    if (depth_ == 1 && top_ == "headroom") {
      placement_.headroom = text;
      return true;
    }
    return value(false);
  }
  bool string(string_t& given) override { return text(given); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override {
    if (depth_ == 2 && top_ == "placement") return refuse(fmt::format("{}: expected a device index", place()));
    if (depth_ == 1 && top_ == "placement") has_placement_ = true;
    return descend();
  }
  bool end_object() override { return ascend(); }
  bool start_array(std::size_t) override {
    if (depth_ == 0) return refuse("expected a JSON object");
    if (depth_ == 1 && top_ == "placement") return refuse("/placement: expected an object of node names and device indices");
    if (depth_ == 2 && top_ == "placement") return refuse(fmt::format("{}: expected a device index", place()));
    return descend();
  }
  bool end_array() override { return ascend(); }
  bool key(string_t& name) override {
    if (depth_ == 1) {
      top_ = name;
      if (!seen_.insert(name).second) return refuse(fmt::format("/{}: appears twice", printable(name)));
    }
    if (depth_ == 2) inner_ = name;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception& error) override {
    return refuse(json_fault(position, error.what()));
  }

 private:
  bool refuse(std::string what) {
    if (fault_.empty()) fault_ = std::move(what);
    return false;
  }
  bool descend() {
    ++depth_;
    if (depth_ == 3 && top_ == "devices") ++devices_listed_;
    return true;
  }
  bool ascend() {
    --depth_;
    if (depth_ == 1 && top_ == "devices") placement_.devices = static_cast<DeviceId>(devices_listed_);
    return true;
  }
  std::string place() const {
    return depth_ <= 1 ? fmt::format("/{}", printable(top_)) : fmt::format("/{}: '{}'", printable(top_), printable(inner_));
  }

  /// A value at a place where only some kinds are right; places that nobody knows take anything.
  bool value(bool right) {
    const bool known = depth_ == 0 || (depth_ == 2 && (top_ == "placement" || (top_ == "graph" && (inner_ == "name" || inner_ == "fingerprint")))) ||
                       (depth_ == 1 && kTop.count(top_) != 0);
    if (!known || right) return true;
    return refuse(depth_ == 0 ? std::string("expected a JSON object") : fmt::format("{}: has the wrong type of value", place()));
  }

  bool number(std::int64_t given) {
    if (depth_ == 2 && top_ == "placement") {
      const std::string fault = devices_.assign(inner_, given);
      return fault.empty() || refuse("/placement: " + fault);
    }
    if (depth_ == 1 && top_ == "version" && given != 1) return refuse(fmt::format("/version: is {}, this program knows version 1", given));
    if (depth_ == 1 && top_ == "headroom") placement_.headroom = std::to_string(given);
    if (depth_ == 1 && top_ == "makespan_ns") placement_.makespan = given;
    return value(depth_ == 1 && (top_ == "version" || top_ == "makespan_ns" || top_ == "headroom"));
  }

  bool text(const std::string& given) {
    if (depth_ == 1 && top_ == "format") {
      has_format_ = given == "pardnn-placement";
      return has_format_ || refuse(fmt::format("/format: is '{}', expected 'pardnn-placement'", printable(given)));
    }
    std::string* const field = depth_ == 1 && top_ == "policy"     ? &placement_.policy
                               : depth_ == 1 && top_ == "links"    ? &placement_.links
                               : depth_ == 1 && top_ == "headroom" ? &placement_.headroom
                               : depth_ == 2 && top_ == "graph" && inner_ == "name" ? &placement_.graph_name
                               : depth_ == 2 && top_ == "graph" && inner_ == "fingerprint" ? &placement_.graph_fingerprint
                                                                                            : nullptr;
    if (field == nullptr) return value(false);
    *field = given;
    const bool policy = field != &placement_.policy || given == "fifo" || given == "priority";
    const bool links = field != &placement_.links || given == "free" || given == "ports";
    return (policy && links) || refuse(fmt::format("{}: '{}' is unknown", place(), printable(given)));
  }

  inline static const std::set<std::string> kTop{"format", "version", "graph", "makespan_ns", "feasible", "seed", "policy", "links", "headroom", "devices", "placement"};

  PlacementFile& placement_;
  NamedDevices& devices_;
  std::string fault_, top_, inner_;
  std::set<std::string> seen_;
  std::int64_t depth_ = 0, devices_listed_ = 0;
  bool has_placement_ = false, has_format_ = false;
};

}  // namespace

PlacementFile read_json_placement(const std::string& file, const PlacedGraph& graph) {
  const std::string text = read_text_file(file, "a placement in JSON");
  PlacementFile placement;
  NamedDevices devices(graph);
  PlacementEvents events(placement, devices);
  const bool whole = nlohmann::json::sax_parse(text, &events);
  if (!whole) {
    // "Another graph" explains an unknown node better than the node does.
    check_same_graph(file, placement.graph_fingerprint, placement.graph_name, graph);
    refuse_placement(file, events.fault().empty() ? "not valid JSON" : events.fault());
  }
  if (!events.has_format()) refuse_placement(file, "/format: is missing, expected 'pardnn-placement': not a placement file");
  if (!events.has_version()) refuse_placement(file, "/version: is missing, expected 1");
  if (!events.has_placement()) refuse_placement(file, "/placement: is missing");
  check_same_graph(file, placement.graph_fingerprint, placement.graph_name, graph);
  if (const std::string fault = devices.missing(); !fault.empty()) refuse_placement(file, "/placement: " + fault);
  placement.device = devices.take();
  return placement;
}

namespace {

std::string device_json(const DeviceReport& device, std::size_t index) {
  return fmt::format(
      "    {{\"index\": {}, \"name\": {}, \"memory_bytes\": {}, \"usable_bytes\": {}, \"peak_bytes\": {}, \"overflow_bytes\": {}, "
      "\"busy_ns\": {}, \"nodes\": {}, \"parameter_free\": {}}}",
      index, json_string(device.name), device.capacity, device.usable, device.peak, device.overflow, device.busy, device.nodes, device.parameter_free);
}

/// All that the file says of the run, one field a line.
std::string head_json(const PlacementFile& placement) {
  std::string text = "{\n  \"format\": \"pardnn-placement\",\n  \"version\": 1,\n";
  text += fmt::format("  \"graph\": {{\"name\": {}, \"fingerprint\": {}}},\n", json_string(placement.graph_name), json_string(placement.graph_fingerprint));
  text += fmt::format("  \"makespan_ns\": {},\n  \"feasible\": {},\n  \"seed\": {},\n", placement.makespan, placement.feasible, placement.seed);
  const auto add_known = [&](const char* name, const std::string& value) {
    if (!value.empty()) text += fmt::format("  \"{}\": {},\n", name, json_string(value));
  };
  add_known("policy", placement.policy);
  add_known("links", placement.links);
  add_known("headroom", placement.headroom);
  return text;
}

std::string devices_json(const PlacementFile& placement) {
  std::string text = "  \"devices\": [";
  const std::size_t count = std::max(placement.device_reports.size(), static_cast<std::size_t>(placement.devices));
  for (std::size_t d = 0; d < count; ++d) {
    text += d == 0 ? "\n" : ",\n";
    text += d < placement.device_reports.size() ? device_json(placement.device_reports[d], d) : fmt::format("    {{\"index\": {}}}", d);
  }
  return text + (count == 0 ? "],\n" : "\n  ],\n");
}

}  // namespace

void write_json_placement(const std::string& file, const std::string& shown, const PlacementFile& placement, const PackedNames& names) {
  TextWriter out(file, shown);
  out.append(head_json(placement));
  out.append(devices_json(placement));
  out.append("  \"placement\": {");
  std::string buffer;
  for (std::size_t n = 0; n < placement.device.size(); ++n) {
    out.append(fmt::format("{}\n    {}: {}", n == 0 ? "" : ",", json_string(name_of(names, static_cast<std::int64_t>(n), buffer)), placement.device[n]));
  }
  out.append(placement.device.empty() ? "}\n}\n" : "\n  }\n}\n");
  out.close();
}

}  // namespace pardnn
