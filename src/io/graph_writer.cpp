#include "io/graph_writer.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "io/atomic_file.hpp"
#include "io/hdf5_file.hpp"
#include "pardnn/error.hpp"

namespace pardnn {

namespace {

using h5::Handle;

/// Elements held back per dataset, and per storage chunk.
constexpr std::size_t kBlock = std::size_t{1} << 16;
/// Datasets of at most this many elements are stored contiguous: a chunk index would be larger than they are.
constexpr std::int64_t kContiguous = 1024;

/// Bytes of the smallest signed type that holds every value: 1, 2, 4 or 8.
int width_of(std::span<const std::int64_t> values) {
  std::int64_t low = 0, high = 0;
  for (const std::int64_t value : values) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  const auto fits = [&](auto type) {
    using Type = decltype(type);
    return low >= std::numeric_limits<Type>::min() && high <= std::numeric_limits<Type>::max();
  };
  return fits(std::int8_t{}) ? 1 : fits(std::int16_t{}) ? 2 : fits(std::int32_t{}) ? 4 : 8;
}

hid_t stored_type(int width) {
  return width == 1 ? H5T_STD_I8LE : width == 2 ? H5T_STD_I16LE : width == 4 ? H5T_STD_I32LE : H5T_STD_I64LE;
}

/// One integer dataset that grows at its end. Nothing is stored while all values are the default (if there is one).
class GrowingArray {
 public:
  /// `usual`: the value that the format takes where the dataset is absent; none: the dataset is always written.
  GrowingArray(const h5::OutputFile& file, std::string path, std::optional<std::int64_t> usual = std::nullopt)
      : file_(&file), path_(std::move(path)), usual_(usual) {}

  void append(std::span<const std::int64_t> values) {
    while (!values.empty()) {
      const std::size_t count = std::min(values.size(), kBlock - held_.size());
      const auto part = values.first(count);
      if (!dataset_ && held_.empty() && all_usual(part)) {
        skipped_ += static_cast<std::int64_t>(count);
      } else {
        hold(part);
      }
      values = values.subspan(count);
    }
  }

  /// `count` default values.
  void append_usual(std::int64_t count) {
    if (!dataset_ && held_.empty()) {
      skipped_ += count;
      return;
    }
    const std::vector<std::int64_t> block(std::min<std::size_t>(kBlock, static_cast<std::size_t>(count)), usual_.value_or(0));
    for (std::int64_t left = count; left > 0; left -= static_cast<std::int64_t>(block.size())) {
      append(std::span(block).first(std::min(block.size(), static_cast<std::size_t>(left))));
    }
  }

  void finish() {
    if (!dataset_ && held_.empty() && usual_) return;
    if (!dataset_ && skipped_ == 0 && static_cast<std::int64_t>(held_.size()) <= kContiguous) {
      const Handle small = h5::make_dataset(file_->id(), path_, stored_type(width_of(held_)), static_cast<std::int64_t>(held_.size()), 0);
      h5::write_elements(small, H5T_NATIVE_INT64, sizeof(std::int64_t), 0, static_cast<std::int64_t>(held_.size()), held_.data(), false);
      return;
    }
    write_held();
    dataset_.close("H5Dclose");
  }

 private:
  bool all_usual(std::span<const std::int64_t> values) const {
    return usual_ && std::all_of(values.begin(), values.end(), [this](std::int64_t value) { return value == *usual_; });
  }

  /// Takes values; the defaults that came before the first other value are put first.
  void hold(std::span<const std::int64_t> values) {
    const std::int64_t before = std::exchange(skipped_, 0);
    for (std::int64_t left = before; left > 0;) {
      const auto count = std::min(static_cast<std::size_t>(left), kBlock - held_.size());
      held_.insert(held_.end(), count, *usual_);
      if (held_.size() == kBlock) write_held();
      left -= static_cast<std::int64_t>(count);
    }
    for (const std::int64_t value : values) {
      held_.push_back(value);
      if (held_.size() == kBlock) write_held();
    }
  }

  void write_held() {
    const int width = width_of(held_);
    if (!dataset_) {
      width_ = width;
      dataset_ = h5::make_dataset(file_->id(), path_, stored_type(width_), 0, static_cast<std::int64_t>(std::max<std::size_t>(held_.size(), 1)));
    } else if (width > width_) {
      widen(width);
    }
    h5::write_elements(dataset_, H5T_NATIVE_INT64, sizeof(std::int64_t), length_, static_cast<std::int64_t>(held_.size()), held_.data(), true);
    length_ += static_cast<std::int64_t>(held_.size());
    held_.clear();
  }

  /// Moves what is stored into a dataset of a wider type; at most three times in the life of an array.
  void widen(int width) {
    const std::string wider_path = path_ + "~";
    Handle wider = h5::make_dataset(file_->id(), wider_path, stored_type(width), 0, kBlock);
    const Handle space(H5Dget_space(dataset_.get()), H5Sclose, "H5Dget_space");
    std::vector<std::int64_t> block(kBlock);
    for (std::int64_t at = 0; at < length_; at += static_cast<std::int64_t>(kBlock)) {
      const hsize_t start = static_cast<hsize_t>(at), count = static_cast<hsize_t>(std::min<std::int64_t>(kBlock, length_ - at));
      h5::checked(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &start, nullptr, &count, nullptr), "H5Sselect_hyperslab");
      const Handle memory(H5Screate_simple(1, &count, nullptr), H5Sclose, "H5Screate_simple");
      h5::checked(H5Dread(dataset_.get(), H5T_NATIVE_INT64, memory.get(), space.get(), H5P_DEFAULT, block.data()), "H5Dread");
      h5::write_elements(wider, H5T_NATIVE_INT64, sizeof(std::int64_t), at, static_cast<std::int64_t>(count), block.data(), true);
    }
    dataset_.close("H5Dclose");
    h5::checked(H5Ldelete(file_->id(), path_.c_str(), H5P_DEFAULT), "H5Ldelete");
    h5::checked(H5Lmove(file_->id(), wider_path.c_str(), file_->id(), path_.c_str(), H5P_DEFAULT, H5P_DEFAULT), "H5Lmove");
    dataset_ = std::move(wider);
    width_ = width;
  }

  const h5::OutputFile* file_;
  std::string path_;
  std::optional<std::int64_t> usual_;
  Handle dataset_;
  int width_ = 1;
  /// Elements in the dataset; defaults before it exists; elements in memory.
  std::int64_t length_ = 0, skipped_ = 0;
  std::vector<std::int64_t> held_;
};

/// The bytes of all names, growing at the end.
class GrowingText {
 public:
  explicit GrowingText(const h5::OutputFile& file) : file_(&file) {}

  void append(std::string_view text) {
    while (!text.empty()) {
      const std::size_t count = std::min(text.size(), kTextBlock - held_.size());
      held_.append(text.substr(0, count));
      text.remove_prefix(count);
      if (held_.size() == kTextBlock) write_held();
    }
  }

  void finish() {
    write_held();
    dataset_.close("H5Dclose");
  }

 private:
  static constexpr std::size_t kTextBlock = std::size_t{1} << 20;

  void write_held() {
    const auto count = static_cast<std::int64_t>(held_.size());
    if (!dataset_) dataset_ = h5::make_dataset(file_->id(), "/nodes/name_bytes", H5T_STD_U8LE, 0, std::max<std::int64_t>(count, 1));
    h5::write_elements(dataset_, H5T_NATIVE_UCHAR, 1, length_, count, held_.data(), true);
    length_ += count;
    held_.clear();
  }

  const h5::OutputFile* file_;
  Handle dataset_;
  std::int64_t length_ = 0;
  std::string held_;
};

void expect(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(what);
}

}  // namespace

struct GraphFileWriter::Implementation {
  explicit Implementation(const std::string& path) : atomic(path), shown(path), file(atomic.temporary()) {
    file.make_group("/edges");
    file.make_group("/nodes");
  }

  void append_optional(GrowingArray& array, std::span<const std::int64_t> values, std::size_t count, const char* what) {
    expect(values.empty() || values.size() == count, what);
    if (values.empty()) {
      array.append_usual(static_cast<std::int64_t>(count));
    } else {
      array.append(values);
    }
  }

  void append_names(const NodeBlock& block, std::size_t count) {
    const bool named = !block.name_ends.empty();
    if (nodes == 0) has_names = named;
    expect(named == has_names, "GraphFileWriter: some blocks of nodes have names and some have none");
    if (!named) return;
    expect(block.name_ends.size() == count, "GraphFileWriter: name_ends differs in length from comp");
    expect(static_cast<std::size_t>(block.name_ends.back()) == block.name_bytes.size(), "GraphFileWriter: name_ends does not end with name_bytes");
    std::vector<std::int64_t> ends(block.name_ends.begin(), block.name_ends.end());
    for (std::int64_t& end : ends) end += name_length;
    name_offsets.append(ends);
    name_bytes.append(block.name_bytes);
    name_length += block.name_ends.back();
  }

  void append(const NodeBlock& block) {
    const std::size_t count = block.comp.size();
    if (count == 0) return;
    expect(block.mem.size() == count, "GraphFileWriter: mem differs in length from comp");
    append_names(block, count);
    comp.append(block.comp);
    mem.append(block.mem);
    append_optional(temp, block.temp, count, "GraphFileWriter: temp differs in length from comp");
    append_optional(kind, block.kind, count, "GraphFileWriter: kind differs in length from comp");
    append_optional(colocation, block.colocation, count, "GraphFileWriter: colocation differs in length from comp");
    append_optional(alias, block.alias, count, "GraphFileWriter: alias differs in length from comp");
    append_optional(fixed, block.fixed, count, "GraphFileWriter: fixed differs in length from comp");
    append_optional(gradient_of, block.gradient_of, count, "GraphFileWriter: gradient_of differs in length from comp");
    if (nodes == 0) has_op = !block.op.empty();
    expect(block.op.size() == (has_op ? count : 0), "GraphFileWriter: op is not there for every node");
    op.append(block.op);
    nodes += static_cast<std::int64_t>(count);
  }

  void append(const EdgeBlock& block) {
    const std::size_t count = block.targets.size();
    expect(block.bytes.size() == count, "GraphFileWriter: bytes differs in length from targets");
    std::int64_t total = 0;
    std::vector<std::int64_t> ends;
    ends.reserve(block.degrees.size());
    for (const std::int64_t degree : block.degrees) ends.push_back(edges + (total += degree));
    expect(total == static_cast<std::int64_t>(count), "GraphFileWriter: degrees do not add up to the number of targets");
    if (count > 0) {
      if (edges == 0) has_output = !block.outputs.empty();
      expect(block.outputs.size() == (has_output ? count : 0), "GraphFileWriter: outputs are not there for every edge");
    }
    indptr.append(ends);
    indices.append(block.targets);
    bytes.append(block.bytes);
    output.append(block.outputs);
    rows += static_cast<std::int64_t>(block.degrees.size());
    edges += total;
  }

  void finish() {
    expect(rows == nodes, "GraphFileWriter: the numbers of rows and nodes differ");
    for (GrowingArray* array : {&indptr, &indices, &bytes, &comp, &mem, &temp, &kind, &colocation, &alias, &fixed, &gradient_of}) array->finish();
    if (has_output) output.finish();
    if (has_names) {
      name_offsets.finish();
      name_bytes.finish();
    }
    if (has_op) {
      op.finish();
      file.write_strings("/op_types", op_types);
    }
    file.close();
    atomic.commit();
  }

  AtomicFile atomic;
  std::string shown;
  h5::OutputFile file;
  GrowingArray indptr{file, "/edges/indptr"}, indices{file, "/edges/indices"}, bytes{file, "/edges/bytes"}, output{file, "/edges/output"};
  GrowingArray comp{file, "/nodes/comp"}, mem{file, "/nodes/mem"}, temp{file, "/nodes/temp", 0}, kind{file, "/nodes/kind", 0};
  GrowingArray colocation{file, "/nodes/colocation", -1}, alias{file, "/nodes/alias", -1}, fixed{file, "/nodes/fixed", -1};
  GrowingArray gradient_of{file, "/nodes/gradient_of", -1}, op{file, "/nodes/op"}, name_offsets{file, "/nodes/name_offsets"};
  GrowingText name_bytes{file};
  std::vector<std::string> op_types;
  std::int64_t nodes = 0, rows = 0, edges = 0, name_length = 0;
  bool has_output = false, has_names = false, has_op = false;
};

GraphFileWriter::GraphFileWriter(const std::string& file, const std::string& name, const std::string& producer,
                                 std::int64_t samples_per_step) try
    : implementation_(std::make_unique<Implementation>(file)) {
  h5::OutputFile& out = implementation_->file;
  out.set_attribute("format", "pardnn-graph");
  out.set_attribute("version", std::int64_t{1});
  out.set_attribute("name", name);
  out.set_attribute("producer", producer);
  out.set_attribute("samples_per_step", samples_per_step);
  const std::int64_t zero = 0;
  implementation_->indptr.append({&zero, 1});
  implementation_->name_offsets.append({&zero, 1});
} catch (const h5::Failure& failure) {
  h5::throw_system_error(file, failure);
}

GraphFileWriter::~GraphFileWriter() = default;

void GraphFileWriter::append_nodes(const NodeBlock& block) try {
  implementation_->append(block);
  implementation_->file.check();
} catch (const h5::Failure& failure) {
  h5::throw_system_error(implementation_->shown, failure);
}

void GraphFileWriter::append_edges(const EdgeBlock& block) try {
  implementation_->append(block);
  implementation_->file.check();
} catch (const h5::Failure& failure) {
  h5::throw_system_error(implementation_->shown, failure);
}

void GraphFileWriter::set_op_types(std::vector<std::string> op_types) { implementation_->op_types = std::move(op_types); }

std::int64_t GraphFileWriter::num_nodes() const { return implementation_->nodes; }
std::int64_t GraphFileWriter::num_edges() const { return implementation_->edges; }

void GraphFileWriter::finish() try {
  implementation_->finish();
} catch (const h5::Failure& failure) {
  h5::throw_system_error(implementation_->shown, failure);
}

}  // namespace pardnn
