#include "io/hdf5_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "graph/graph_checks.hpp"
#include "io/available_memory.hpp"
#include "io/graph_writer.hpp"
#include "io/hdf5_file.hpp"
#include "pardnn/error.hpp"

namespace pardnn {

namespace {

using h5::InputDataset;
using h5::InputFile;

struct ArrayEntry {
  const char* path;
  std::vector<std::int64_t> GraphData::*values;
  bool required;
};

/// In the order in which they are read.
constexpr ArrayEntry kArrays[] = {
    {"/edges/indptr", &GraphData::indptr, true},
    {"/edges/indices", &GraphData::indices, true},
    {"/edges/bytes", &GraphData::bytes, true},
    {"/edges/output", &GraphData::output, false},
    {"/nodes/comp", &GraphData::comp, true},
    {"/nodes/mem", &GraphData::mem, true},
    {"/nodes/temp", &GraphData::temp, false},
    {"/nodes/kind", &GraphData::kind, false},
    {"/nodes/colocation", &GraphData::colocation, false},
    {"/nodes/alias", &GraphData::alias, false},
    {"/nodes/fixed", &GraphData::fixed, false},
    {"/nodes/gradient_of", &GraphData::gradient_of, false},
};

/// Reads one file; what is wrong goes to `findings`, so that `validate` sees all of it and `read` the first.
class GraphReader {
 public:
  GraphReader(const std::string& file, ReadParts parts, std::size_t limit)
      : file_(file, "an HDF5 graph"), parts_(parts), findings_(limit) {}

  GraphData read() {
    read_attributes();
    open_datasets();
    check_memory();
    if (!findings_.full()) read_names();
    for (Opened& array : opened_) {
      if (findings_.full()) break;
      attempt(array.entry->path, [&] { data_.*array.entry->values = array.dataset.read_all(); });
    }
    opened_.clear();
    if (!findings_.full()) read_operations();
    return std::move(data_);
  }

  /// Adds the findings of the graph as a whole, except on datasets that already have one.
  std::vector<Finding> check(const GraphData& data, std::size_t limit) {
    std::vector<Finding> found = findings_.take();
    const bool sized = std::none_of(found.begin(), found.end(), [](const Finding& f) { return f.dataset == "/edges/indptr"; });
    if (!sized || (limit != 0 && found.size() >= limit)) return found;
    std::set<std::string> known;
    for (const Finding& finding : found) known.insert(finding.dataset);
    if (known.count("/nodes/name_offsets") != 0) known.insert("/nodes/name_bytes");
    for (Finding& finding : check_graph(data, limit)) {
      if (known.count(finding.dataset) == 0) found.push_back(std::move(finding));
    }
    return found;
  }

  bool names_in_file() const { return names_in_file_; }

 private:
  struct Opened {
    const ArrayEntry* entry;
    InputDataset dataset;
  };

  void add(const std::string& dataset, const std::string& message) {
    findings_.begin_rule(dataset);
    findings_.add([&] { return message; });
    findings_.end_rule();
  }

  /// Runs `step`; what it refuses becomes a finding.
  template <typename Step>
  void attempt(const char* path, Step&& step) {
    try {
      step();
    } catch (const h5::ObjectError& error) {
      add(error.object(), error.what());
    } catch (const h5::Failure& failure) {
      add(path, failure.what());
    }
  }

  void read_attributes() {
    attempt("/format", [&] {
      const auto format = file_.string_attribute("format");
      if (!format) return add("/format", "attribute is missing, expected 'pardnn-graph': not a graph file");
      if (*format != "pardnn-graph") add("/format", fmt::format("is '{}', expected 'pardnn-graph'", printable(*format)));
    });
    attempt("/version", [&] {
      const auto version = file_.integer_attribute("version");
      if (!version) return add("/version", "attribute is missing, expected 1");
      if (*version != 1) add("/version", fmt::format("is {}, this program knows version 1", *version));
    });
    attempt("/name", [&] { data_.name = file_.string_attribute("name").value_or(""); });
    attempt("/producer", [&] { data_.producer = file_.string_attribute("producer").value_or(""); });
    attempt("/samples_per_step", [&] { data_.samples_per_step = file_.integer_attribute("samples_per_step").value_or(1); });
  }

  std::optional<InputDataset> open(const char* path, InputDataset::Element element, bool required) {
    std::optional<InputDataset> dataset;
    attempt(path, [&] {
      if (file_.has(path)) {
        dataset.emplace(file_, path, element);
      } else if (required) {
        add(path, "dataset is missing");
      }
    });
    return dataset;
  }

  void open_datasets() {
    for (const ArrayEntry& entry : kArrays) {
      if (findings_.full()) return;
      auto dataset = open(entry.path, InputDataset::Element::integer, entry.required);
      if (dataset) opened_.push_back({&entry, std::move(*dataset)});
    }
    attempt("/nodes/name_offsets", [&] {
      names_in_file_ = file_.has("/nodes/name_offsets") || file_.has("/nodes/name_bytes");
    });
    if (!names_in_file_) return;
    name_offsets_ = open("/nodes/name_offsets", InputDataset::Element::integer, true);
    name_bytes_ = open("/nodes/name_bytes", InputDataset::Element::byte, true);
  }

  /// All that will be held at once, before any of it is allocated.
  void check_memory() const {
    __extension__ using Wide = unsigned __int128;
    Wide needed = 0;
    for (const Opened& array : opened_) needed += Wide(static_cast<std::uint64_t>(array.dataset.length())) * 8;
    if (name_offsets_) needed += Wide(static_cast<std::uint64_t>(name_offsets_->length())) * 24;
    if (name_bytes_ && parts_.names) needed += Wide(static_cast<std::uint64_t>(name_bytes_->length()));
    const std::size_t available = available_memory();
    if (needed <= available) return;
    throw SystemError(fmt::format("{}: needs {} MiB of memory, {} MiB are left", printable(file_.name(), 300),
                                  static_cast<std::uint64_t>(needed >> 20), available >> 20));
  }

  /// Checks names block by block; keeps them if they are wanted.
  void read_names() {
    if (!name_offsets_ || !name_bytes_) return;
    attempt("/nodes/name_offsets", [&] {
      std::vector<std::int64_t> offsets = name_offsets_->read_all();
      if (offsets.empty()) return add("/nodes/name_offsets", "has length 0, expected the number of nodes plus 1");
      const std::int64_t bytes = name_bytes_->length();
      if (parts_.names) {
        data_.names.bytes.resize(static_cast<std::size_t>(bytes));
        name_bytes_->read_bytes(0, data_.names.bytes);
        data_.names.offsets = std::move(offsets);
        return;  // check_graph looks at names in memory
      }
      std::vector<char> block;
      check_names(offsets, bytes, [&](std::int64_t first, std::int64_t last) {
        block.resize(static_cast<std::size_t>(offsets[last] - offsets[first]));
        name_bytes_->read_bytes(offsets[first], block);
        return std::string_view(block.data(), block.size());
      }, findings_);
      const auto nodes = std::find_if(opened_.begin(), opened_.end(), [](const Opened& o) { return o.entry->values == &GraphData::indptr; });
      if (nodes != opened_.end() && nodes->dataset.length() != name_offsets_->length()) {
        add("/nodes/name_offsets", fmt::format("has length {}, expected {} (the number of nodes plus 1)", name_offsets_->length(), nodes->dataset.length()));
      }
    });
  }

  void read_operations() {
    if (!parts_.operations) return;
    const auto op = open("/nodes/op", InputDataset::Element::integer, false);
    if (!op) return;
    const auto types = open("/op_types", InputDataset::Element::string, true);
    if (!types) return;
    constexpr std::size_t kMostText = std::size_t{64} << 20;
    attempt("/nodes/op", [&] { data_.op = op->read_all(); });
    attempt("/op_types", [&] { data_.op_types = types->read_strings(kMostText); });
  }

  InputFile file_;
  ReadParts parts_;
  Findings findings_;
  GraphData data_;
  std::vector<Opened> opened_;
  bool names_in_file_ = false;
  std::optional<InputDataset> name_offsets_, name_bytes_;
};

}  // namespace

GraphData read_hdf5_graph(const std::string& file, ReadParts parts) {
  GraphReader reader(file, parts, 1);
  GraphData data = reader.read();
  std::vector<Finding> found = reader.check(data, 1);
  if (found.empty()) return data;
  // Names were not kept: read again with them, so that the line can use the user's own terms.
  if (reader.names_in_file() && !parts.names) {
    data = {};
    GraphReader again(file, {.names = true, .operations = parts.operations}, 1);
    data = again.read();
    std::vector<Finding> named = again.check(data, 1);
    if (!named.empty()) found = std::move(named);
  }
  throw InputError(fmt::format("{}: {}", printable(file, 300), to_line(found.front())));
}

std::vector<Finding> validate_hdf5_graph(const std::string& file) {
  GraphReader reader(file, {.names = true, .operations = true}, 0);
  const GraphData data = reader.read();
  return reader.check(data, 0);
}

namespace {

/// Values [first, last) of an array that may be absent.
std::span<const std::int64_t> part(const std::vector<std::int64_t>& values, std::int64_t first, std::int64_t last) {
  return values.empty() ? std::span<const std::int64_t>{} : std::span(values).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(last - first));
}

void append_nodes(GraphFileWriter& writer, const GraphData& data, std::int64_t first, std::int64_t last) {
  NodeBlock block;
  block.comp = part(data.comp, first, last);
  block.mem = part(data.mem, first, last);
  block.temp = part(data.temp, first, last);
  block.kind = part(data.kind, first, last);
  block.colocation = part(data.colocation, first, last);
  block.alias = part(data.alias, first, last);
  block.fixed = part(data.fixed, first, last);
  block.gradient_of = part(data.gradient_of, first, last);
  block.op = part(data.op, first, last);
  std::vector<std::int64_t> ends;
  if (!data.names.empty()) {
    const std::vector<std::int64_t>& offsets = data.names.offsets;
    for (std::int64_t n = first; n < last; ++n) ends.push_back(offsets[n + 1] - offsets[first]);
    block.name_ends = ends;
    block.name_bytes = {data.names.bytes.data() + offsets[first], static_cast<std::size_t>(offsets[last] - offsets[first])};
  }
  writer.append_nodes(block);
}

void append_rows(GraphFileWriter& writer, const GraphData& data, std::int64_t first, std::int64_t last) {
  std::vector<std::int64_t> degrees;
  for (std::int64_t n = first; n < last; ++n) degrees.push_back(data.indptr[n + 1] - data.indptr[n]);
  const std::int64_t begin = data.indptr[first], end = data.indptr[last];
  writer.append_edges({degrees, part(data.indices, begin, end), part(data.bytes, begin, end), part(data.output, begin, end)});
}

}  // namespace

void write_hdf5_graph(const std::string& file, const GraphData& data) {
  constexpr std::int64_t kNodesAtOnce = 1 << 16;
  GraphFileWriter writer(file, data.name, data.producer, data.samples_per_step);
  for (std::int64_t first = 0; first < data.num_nodes(); first += kNodesAtOnce) {
    const std::int64_t last = std::min(first + kNodesAtOnce, data.num_nodes());
    append_nodes(writer, data, first, last);
    append_rows(writer, data, first, last);
  }
  writer.set_op_types(data.op_types);
  writer.finish();
}

}  // namespace pardnn
