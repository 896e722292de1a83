#include "report/report_page.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include <nlohmann/json.hpp>

#include "report/chain_parts.hpp"
#include "report/module_names.hpp"
#include "report/page_template.hpp"
#include "report/peak_tensors.hpp"
#include "report/timeline.hpp"

namespace pardnn {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kPageBytes = 1'900'000;
constexpr std::int64_t kBlocks = 24'000;        // in all; halved until the page is small enough
constexpr std::int64_t kMemoryPoints = 24'000;  // in all
constexpr std::size_t kLayers = 512;  // more are no layers
constexpr std::size_t kChainParts = 400, kModules = 15, kLinePieces = 3'000;
constexpr std::size_t kTensors = 12, kTensorsInAll = 600;

std::string layer_text(const std::string& name) { return std::string(layer_of(name)); }

/// Texts, each kept once, by the order in which they are first met.
class TextIndex {
 public:
  std::size_t of(std::string_view text) {
    const auto [place, is_new] = index_.try_emplace(std::string(text), texts_.size());
    if (is_new) texts_.push_back(place->first);
    return place->second;
  }
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::unordered_map<std::string, std::size_t> index_;  // looked up only, never walked
  std::vector<std::string> texts_;
};

/// Names of nodes as [module, rest, layer, phase].
class NameTable {
 public:
  explicit NameTable(const EmulatedRun& run) : run_(run) {}

  /// Layers in the order of their first node, whatever is drawn: colours follow the model. Where names have no structure, ranges of nodes are layers.
  void find_layers() {
    uses_ranges_ = !run_.has_names();
    if (uses_ranges_) return find_ranges();
    for (const NodeId v : run_.schedule().start_order) {
      layers_.of(layer(v));
      if (layers_.texts().size() <= kLayers) continue;
      uses_ranges_ = true;
      layers_ = {};
      return find_ranges();
    }
  }

  std::size_t of(NodeId v) {
    const std::string name = run_.name(v);
    const std::size_t index = names_.of(name);
    if (index == rows_.size()) {
      const std::string_view module = module_of(name);
      rows_.push_back({modules_.of(module), name.substr(module.size()), layers_.of(layer(v)), static_cast<int>(phase_of(name))});
    }
    return index;
  }

  void put_into(Json& json) {
    json["modules"] = modules_.texts();
    json["layers"] = layers_.texts();
    json["names"] = std::move(rows_);
  }

 private:
  std::string layer(NodeId v) const {
    return uses_ranges_ ? range_of(run_.graph().file_id(v), run_.graph().num_nodes()) : layer_text(run_.name(v));
  }

  void find_ranges() {
    const std::int64_t nodes = run_.graph().num_nodes();
    for (std::int64_t id = 0; id < nodes; ++id) layers_.of(range_of(id, nodes));
  }

  const EmulatedRun& run_;
  bool uses_ranges_ = false;
  TextIndex names_, modules_, layers_;
  Json rows_ = Json::array();
};

Json blocks_json(const std::vector<Block>& blocks, NameTable& names) {
  Json flat = Json::array();
  Nanoseconds before = 0;
  for (const Block& block : blocks) {
    const Nanoseconds length = block.ends - block.begins;
    flat.push_back(block.begins - before);
    flat.push_back(length);
    flat.push_back(length - block.busy);
    flat.push_back(names.of(block.longest));
    flat.push_back(block.nodes);
    before = block.ends;
  }
  return flat;
}

Json memory_json(const EmulatedRun& run, DeviceId d) {
  Json flat = Json::array();
  Nanoseconds before = 0;
  const std::int64_t budget = std::max<std::int64_t>(100, kMemoryPoints / run.machine().num_devices());
  for (const auto& point : memory_curve(run, d, budget)) {
    flat.push_back(point.first - before);
    flat.push_back(point.second);
    before = point.first;
  }
  return flat;
}

Json tensors_json(const EmulatedRun& run, const PeakTensors& tensors) {
  Json rows = Json::array();
  for (const Holding& holding : tensors.largest) {
    const Nanoseconds end = std::min(holding.to, run.schedule().makespan);
    rows.push_back({run.name(holding.owner), static_cast<int>(holding.kind), holding.bytes, holding.from, end});
  }
  return rows;
}

Json devices_json(EmulatedRun& run, const Evaluation& evaluation, const Timeline& timeline, NameTable& names) {
  const std::size_t each = std::clamp<std::size_t>(kTensorsInAll / evaluation.devices.size(), 3, kTensors);
  const std::vector<PeakTensors> tensors = find_peak_tensors(run, each);
  Json devices = Json::array();
  for (std::size_t d = 0; d < evaluation.devices.size(); ++d) {
    const DeviceReport& report = evaluation.devices[d];
    devices.push_back({{"name", report.name},
                       {"usable", report.usable >= kUnlimited ? Json(nullptr) : Json(report.usable)},
                       {"peak", report.peak},
                       {"peak_time", run.peaks().peak_time[d]},
                       {"overflow", report.overflow},
                       {"busy", report.busy},
                       {"nodes", report.nodes},
                       {"held", tensors[d].by_kind},
                       {"tensors", tensors_json(run, tensors[d])},
                       {"blocks", blocks_json(timeline.blocks[d], names)},
                       {"memory", memory_json(run, static_cast<DeviceId>(d))}});
  }
  return devices;
}

/// Stretches of the chain on one device, for the line in the picture: pieces that nobody could tell apart are one.
Json line_json(const std::vector<ChainPart>& parts, Nanoseconds makespan) {
  struct Piece {
    DeviceId device;
    Nanoseconds begins, ends;
  };
  std::vector<Piece> pieces;
  const Nanoseconds least = parts.size() <= kLinePieces ? 0 : makespan / static_cast<Nanoseconds>(kLinePieces);
  for (const ChainPart& part : parts) {
    const Nanoseconds begins = std::min(part.begins + part.transfer, part.ends);
    const bool joins = !pieces.empty() && (pieces.back().device == part.device || part.ends - pieces.back().begins < least);
    if (joins) {
      pieces.back().ends = part.ends;
    } else {
      pieces.push_back({part.device, begins, part.ends});
    }
  }
  Json line = Json::array();
  for (const Piece& piece : pieces) line.push_back({piece.device, piece.begins, piece.ends});
  return line;
}

/// The modules with most time on the chain, most first.
Json modules_json(const std::vector<ChainPart>& parts) {
  struct Sum {
    Nanoseconds compute = 0, transfer = 0;
    std::int64_t nodes = 0;
  };
  std::map<std::string, Sum> by_module;
  for (const ChainPart& part : parts) {
    Sum& sum = by_module[part.module];
    sum.compute += part.compute;
    sum.transfer += part.transfer;
    sum.nodes += part.nodes;
  }
  std::vector<std::pair<std::string, Sum>> sorted(by_module.begin(), by_module.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.second.compute + a.second.transfer > b.second.compute + b.second.transfer; });
  if (sorted.size() > kModules) sorted.resize(kModules);
  Json rows = Json::array();
  for (const auto& entry : sorted) rows.push_back({entry.first, entry.second.compute, entry.second.transfer, entry.second.nodes});
  return rows;
}

Json chain_json(const EmulatedRun& run) {
  const ChainSummary chain = summarize_chain(run, kChainParts);
  Json json{{"compute", chain.compute}, {"transfer", chain.transfer}, {"nodes", chain.nodes}, {"queued", chain.queued}, {"device_changes", chain.device_changes}};
  json["line"] = line_json(chain.parts, run.schedule().makespan);
  json["modules"] = modules_json(chain.parts);
  // Where even the shallowest modules give more stretches than can be read, the longest stay.
  std::vector<ChainPart> shown = chain.parts;
  const auto length = [](const ChainPart& part) { return part.ends - part.begins; };
  Nanoseconds left_out = 0;
  if (shown.size() > kChainParts) {
    std::stable_sort(shown.begin(), shown.end(), [&](const ChainPart& a, const ChainPart& b) { return length(a) > length(b); });
    for (std::size_t i = kChainParts; i < shown.size(); ++i) left_out += length(shown[i]);
    shown.resize(kChainParts);
    std::stable_sort(shown.begin(), shown.end(), [](const ChainPart& a, const ChainPart& b) { return a.begins < b.begins; });
  }
  json["left_out"] = chain.parts.size() - shown.size();
  json["left_out_time"] = left_out;
  json["parts"] = Json::array();
  for (const ChainPart& part : shown) json["parts"].push_back({part.module, part.device, part.begins, part.compute, part.transfer, part.nodes, part.queued});
  return json;
}

Json rivals_json(const Rivals& rivals) {
  Json rows = Json::array();
  for (const Rival& rival : rivals.known) {
    rows.push_back({{"name", rival.name}, {"what", rival.what}, {"makespan", rival.makespan}, {"peak", rival.peak}, {"feasible", rival.feasible}});
  }
  return rows;
}

Json summary_json(const EmulatedRun& run, const Evaluation& evaluation, const ReportWords& words) {
  return {{"title", words.title},
          {"nodes", run.graph().num_nodes()},
          {"edges", run.graph().num_edges()},
          {"fingerprint", run.graph().fingerprint()},
          {"machine", run.machine().name},
          {"placement", words.placement},
          {"version", words.version},
          {"policy", words.policy},
          {"links", words.links},
          {"headroom", words.headroom},
          {"makespan", evaluation.makespan},
          {"lower", evaluation.lower_bound},
          {"best", evaluation.best_bound},
          {"feasible", evaluation.feasible},
          {"broken", evaluation.broken},
          {"cut_edges", evaluation.cut_edges},
          {"cut_bytes", evaluation.cut_bytes}};
}

}  // namespace

std::string safe_in_script(const std::string& json) {
  std::string safe;
  safe.reserve(json.size());
  for (const char c : json) {
    switch (c) {
      case '<': safe += "\\u003c"; break;
      case '>': safe += "\\u003e"; break;
      case '&': safe += "\\u0026"; break;
      default: safe += c;
    }
  }
  return safe;
}

std::string report_page(EmulatedRun& run, const Evaluation& evaluation, const Rivals& rivals, const ReportWords& words) {
  const PageTemplate page = page_template();
  const Json chain = chain_json(run);
  std::string data;
  for (std::int64_t budget = kBlocks; budget > 0; budget /= 2) {
    Json json = summary_json(run, evaluation, words);
    NameTable names(run);
    names.find_layers();
    const Timeline timeline = make_timeline(run, budget);
    json["resolution"] = timeline.resolution;
    json["devices"] = devices_json(run, evaluation, timeline, names);
    names.put_into(json);
    json["chain"] = chain;
    json["baselines"] = rivals_json(rivals);
    json["skipped"] = rivals.skipped;
    data = safe_in_script(json.dump(-1, ' ', false, Json::error_handler_t::replace));
    if (page.before.size() + data.size() + page.after.size() <= kPageBytes) break;
  }
  return std::string(page.before) + data + std::string(page.after);
}

}  // namespace pardnn
