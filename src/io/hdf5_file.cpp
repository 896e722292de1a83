#include "io/hdf5_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <string_view>
#include <system_error>

#include "io/available_memory.hpp"
#include "io/superblock.hpp"
#include "io/text_file.hpp"
#include "pardnn/error.hpp"

// H5Pset_file_locking came with 1.10.7 and 1.12.1.
#if H5_VERSION_GE(1, 12, 1) || (H5_VERSION_GE(1, 10, 7) && !H5_VERSION_GE(1, 12, 0))
#define PARDNN_HDF5_LOCKING_PROPERTY 1
#endif

namespace pardnn::h5 {

// ---------------------------------------------------------------------------------------------------- errors

namespace {

/// Keeps the description at the bottom of HDF5's error stack: the cause.
herr_t keep_innermost(unsigned n, const H5E_error2_t* error, void* text) {
  if (n == 0 && error->desc != nullptr) *static_cast<std::string*>(text) = error->desc;
  return 0;
}

std::string innermost_error() {
  std::string text;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, &text);
  return text;
}

/// "errno = N" in the text of a failed system call, 0 if there is none.
int errno_in(std::string_view text) {
  constexpr std::string_view key = "errno = ";
  const std::size_t at = text.find(key);
  return at == std::string_view::npos ? 0 : std::atoi(std::string(text.substr(at + key.size(), 8)).c_str());
}

}  // namespace

void fail(const char* call) {
  const std::string cause = innermost_error();
  throw Failure(cause.empty() ? fmt::format("{} failed", call) : fmt::format("{} failed: {}", call, printable(cause, 200)), errno_in(cause));
}

Session::Session() {
  H5Eget_auto2(H5E_DEFAULT, &print_, &print_data_);
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  H5PLget_loading_state(&plugins_);
  H5PLset_loading_state(0);
}

Session::~Session() {
  H5PLset_loading_state(plugins_);
  H5Eset_auto2(H5E_DEFAULT, print_, print_data_);
}

std::size_t io_piece_bytes() {
  constexpr std::size_t greatest = (std::size_t{1} << 31) - 1;
  const char* const text = std::getenv("PARDNN_IO_CHUNK");
  if (text == nullptr) return greatest;
  const unsigned long long wanted = std::strtoull(text, nullptr, 10);
  return std::clamp<unsigned long long>(wanted, 1, greatest);
}

// ---------------------------------------------------------------------------------------------------- files

namespace {

Handle read_access(bool locking) {
  Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "H5Pcreate");
  // Handles that are still open must not keep the file open behind our back (C20 of the user reports).
  checked(H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG), "H5Pset_fclose_degree");
#ifdef PARDNN_HDF5_LOCKING_PROPERTY
  if (!locking) checked(H5Pset_file_locking(access.get(), false, true), "H5Pset_file_locking");
#else
  static_cast<void>(locking);
#endif
  return access;
}

[[noreturn]] void refuse_file(const std::string& file, const std::string& why) {
  throw InputError(fmt::format("{}: {}", printable(file, 300), why));
}

/// True if the file system knows no locks, as some of NFS, Lustre and DVS (C1 of the user reports): reading needs none.
bool no_locks_here(const std::string& cause) {
  constexpr int kInternalNotSupported = 524;  // ENOTSUPP of the Linux kernel, which leaks out of some file systems
  const int code = errno_in(cause);
  return cause.find("lock") != std::string::npos &&
         (code == ENOLCK || code == ENOSYS || code == EOPNOTSUPP || code == EINVAL || code == kInternalNotSupported);
}

std::string open_fault(const std::string& cause) {
  const bool locked = cause.find("unable to lock") != std::string::npos;
  if (locked && (errno_in(cause) == EAGAIN || errno_in(cause) == EACCES)) {
    return "is being written by another program (locked); wait for it, or set HDF5_USE_FILE_LOCKING=FALSE if there is none";
  }
  if (locked) return fmt::format("cannot be locked ({}); set HDF5_USE_FILE_LOCKING=FALSE and try again", printable(cause, 200));
  return fmt::format("cannot be opened as HDF5: {}", printable(cause, 200));
}

Handle open_to_read(const std::string& file) {
  // Held by name: closing it would wipe the error that is asked for next.
  const Handle access = read_access(true);
  hid_t id = H5Fopen(file.c_str(), H5F_ACC_RDONLY, access.get());
  if (id >= 0) return {id, H5Fclose, "H5Fopen"};
  const std::string cause = innermost_error();
  if (no_locks_here(cause)) {
    const Handle without_locks = read_access(false);
    id = H5Fopen(file.c_str(), H5F_ACC_RDONLY, without_locks.get());
    if (id >= 0) return {id, H5Fclose, "H5Fopen"};
  }
  refuse_file(file, open_fault(cause));
}

/// Everything that can be said before HDF5 sees the file.
std::uint64_t check_before_opening(const std::string& file, const std::string& expected) {
  const std::uint64_t size = regular_file_size(file, expected);
  if (size == 0) refuse_file(file, "is empty, expected " + expected);
  const std::optional<Superblock> head = read_superblock(file);
  if (!head) refuse_file(file, "is not an HDF5 file, expected " + expected);
  if (head->cut_off) refuse_file(file, fmt::format("truncated: have {} bytes, which end inside the head of the file", size));
  if (size < head->end_of_file) refuse_file(file, fmt::format("truncated: have {} bytes, need {}", size, head->end_of_file));
  if (head->open_for_write) {
    refuse_file(file, "is open for writing, or its writer was killed; write it again, or mend it with h5clear -s");
  }
  return size;
}

/// Refuses to follow an external link, and remembers that there was one.
herr_t refuse_external(const char*, const char*, const char*, const char*, unsigned*, hid_t, void* met) {
  *static_cast<bool*>(met) = true;
  return -1;
}

/// Access properties that keep a path inside its file. `met` is set if an external link stood on it.
Handle inside_file(hid_t kind, bool* met) {
  Handle access(H5Pcreate(kind), H5Pclose, "H5Pcreate");
  checked(H5Pset_elink_cb(access.get(), refuse_external, met), "H5Pset_elink_cb");
  return access;
}

[[noreturn]] void refuse_link(const std::string& path) {
  throw ObjectError(path, "is behind an external link; everything must be in this file");
}

}  // namespace

InputFile::InputFile(const std::string& file, const std::string& expected)
    : name_(file), size_(check_before_opening(file, expected)), file_(open_to_read(file)) {}

bool InputFile::has(const std::string& path) const {
  bool external = false;
  const Handle access = inside_file(H5P_LINK_ACCESS, &external);
  for (std::size_t slash = path.find('/', 1); ; slash = path.find('/', slash + 1)) {
    const htri_t there = H5Lexists(file_.get(), path.substr(0, slash).c_str(), access.get());
    if (external) refuse_link(path);
    if (there < 0) throw ObjectError(path, "cannot be looked up: " + printable(innermost_error(), 200));
    if (there == 0) return false;
    if (slash == std::string::npos) return true;
  }
}

// ---------------------------------------------------------------------------------------------------- attributes

namespace {

/// Longest text of an attribute or of one string in a list that is taken.
constexpr std::size_t kLongestText = 1 << 20;

struct Attribute {
  std::string path;
  Handle id, type, space;

  [[noreturn]] void refuse(const std::string& message) const { throw ObjectError(path, message); }
};

/// Scalar or one element; anything else is refused (C13 of the user reports).
Attribute open_attribute(hid_t file, const std::string& name) {
  Attribute attribute{"/" + name, {}, {}, {}};
  attribute.id = Handle(H5Aopen_by_name(file, "/", name.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose, "H5Aopen_by_name");
  attribute.type = Handle(H5Aget_type(attribute.id.get()), H5Tclose, "H5Aget_type");
  attribute.space = Handle(H5Aget_space(attribute.id.get()), H5Sclose, "H5Aget_space");
  const int rank = H5Sget_simple_extent_ndims(attribute.space.get());
  const hssize_t elements = H5Sget_simple_extent_npoints(attribute.space.get());
  if (elements != 1) attribute.refuse(fmt::format("has {} elements, expected one", elements));
  if (rank > 1) attribute.refuse(fmt::format("has {} dimensions, expected a scalar or one element", rank));
  return attribute;
}

/// The text of one fixed-length field, without its padding.
std::string unpadded(const char* data, std::size_t size, H5T_str_t padding) {
  std::string_view text(data, size);
  if (padding == H5T_STR_SPACEPAD) {
    const std::size_t last = text.find_last_not_of(' ');
    return std::string(text.substr(0, last == std::string_view::npos ? 0 : last + 1));
  }
  return std::string(text.substr(0, std::min(text.find('\0'), text.size())));
}

/// Memory type for reading strings of file type `type`: the same kind, so that HDF5 has nothing to convert.
Handle string_memory_type(hid_t type) { return {H5Tcopy(type), H5Tclose, "H5Tcopy"}; }

std::string read_attribute_text(const Attribute& attribute) {
  const Handle memory = string_memory_type(attribute.type.get());
  const auto check_length = [&](std::size_t length) {
    if (length > kLongestText) attribute.refuse(fmt::format("is a string of {} bytes, expected at most {}", length, kLongestText));
  };
  if (checked(H5Tis_variable_str(attribute.type.get()), "H5Tis_variable_str") > 0) {
    char* text = nullptr;
    checked(H5Aread(attribute.id.get(), memory.get(), &text), "H5Aread");
    std::string copy = text == nullptr ? "" : text;
    H5free_memory(text);
    check_length(copy.size());
    return copy;
  }
  const std::size_t size = H5Tget_size(attribute.type.get());
  check_length(size);
  std::vector<char> data(size);
  checked(H5Aread(attribute.id.get(), memory.get(), data.data()), "H5Aread");
  return unpadded(data.data(), size, H5Tget_strpad(attribute.type.get()));
}

bool has_attribute(hid_t file, const std::string& name) {
  return checked(H5Aexists_by_name(file, "/", name.c_str(), H5P_DEFAULT), "H5Aexists_by_name") > 0;
}

const char* class_name(H5T_class_t type) {
  switch (type) {
    case H5T_INTEGER: return "integers";
    case H5T_FLOAT: return "floating-point numbers";
    case H5T_STRING: return "strings";
    case H5T_BITFIELD: return "bit fields";
    case H5T_OPAQUE: return "opaque data";
    case H5T_COMPOUND: return "compounds";
    case H5T_REFERENCE: return "references";
    case H5T_ENUM: return "enumerated values";
    case H5T_VLEN: return "variable-length lists";
    case H5T_ARRAY: return "arrays";
    default: return "data of an unknown type";
  }
}

}  // namespace

std::optional<std::int64_t> InputFile::integer_attribute(const std::string& name) const try {
  if (!has_attribute(file_.get(), name)) return std::nullopt;
  const Attribute attribute = open_attribute(file_.get(), name);
  const H5T_class_t kind = H5Tget_class(attribute.type.get());
  if (kind != H5T_INTEGER) attribute.refuse(fmt::format("holds {}, expected an integer", class_name(kind)));
  if (H5Tget_precision(attribute.type.get()) > 64) attribute.refuse("is an integer of more than 64 bits");
  if (H5Tget_sign(attribute.type.get()) == H5T_SGN_NONE) {
    std::uint64_t value = 0;
    checked(H5Aread(attribute.id.get(), H5T_NATIVE_UINT64, &value), "H5Aread");
    if (value > static_cast<std::uint64_t>(INT64_MAX)) attribute.refuse(fmt::format("{} is above 2^63 - 1", value));
    return static_cast<std::int64_t>(value);
  }
  std::int64_t value = 0;
  checked(H5Aread(attribute.id.get(), H5T_NATIVE_INT64, &value), "H5Aread");
  return value;
} catch (const Failure& failure) {
  throw ObjectError("/" + name, failure.what());
}

std::optional<std::uint64_t> InputFile::unsigned_attribute(const std::string& name) const try {
  if (!has_attribute(file_.get(), name)) return std::nullopt;
  const Attribute attribute = open_attribute(file_.get(), name);
  if (H5Tget_class(attribute.type.get()) != H5T_INTEGER || H5Tget_sign(attribute.type.get()) != H5T_SGN_NONE ||
      H5Tget_precision(attribute.type.get()) > 64) {
    const auto value = integer_attribute(name);
    if (*value < 0) attribute.refuse(fmt::format("{} is negative", *value));
    return static_cast<std::uint64_t>(*value);
  }
  std::uint64_t value = 0;
  checked(H5Aread(attribute.id.get(), H5T_NATIVE_UINT64, &value), "H5Aread");
  return value;
} catch (const Failure& failure) {
  throw ObjectError("/" + name, failure.what());
}

std::optional<std::string> InputFile::number_text_attribute(const std::string& name) const try {
  if (!has_attribute(file_.get(), name)) return std::nullopt;
  const Attribute attribute = open_attribute(file_.get(), name);
  if (H5Tget_class(attribute.type.get()) == H5T_STRING) return read_attribute_text(attribute);
  if (H5Tget_class(attribute.type.get()) != H5T_FLOAT) return fmt::format("{}", *integer_attribute(name));
  double value = 0;
  checked(H5Aread(attribute.id.get(), H5T_NATIVE_DOUBLE, &value), "H5Aread");
  return fmt::format("{}", value);
} catch (const Failure& failure) {
  throw ObjectError("/" + name, failure.what());
}

std::optional<std::string> InputFile::string_attribute(const std::string& name) const try {
  if (!has_attribute(file_.get(), name)) return std::nullopt;
  const Attribute attribute = open_attribute(file_.get(), name);
  const H5T_class_t kind = H5Tget_class(attribute.type.get());
  if (kind != H5T_STRING) attribute.refuse(fmt::format("holds {}, expected a string", class_name(kind)));
  return read_attribute_text(attribute);
} catch (const Failure& failure) {
  throw ObjectError("/" + name, failure.what());
}

// ---------------------------------------------------------------------------------------------------- datasets

InputDataset::InputDataset(const InputFile& file, const std::string& path, Element element) try : path_(path), file_size_(file.size()) {
  bool external = false;
  const Handle access = inside_file(H5P_DATASET_ACCESS, &external);
  // Without a cache chunks that have no filter are read in place, whatever length the file gives them. Text is read in small pieces and needs it.
  if (element != Element::string) checked(H5Pset_chunk_cache(access.get(), 0, 0, 1.0), "H5Pset_chunk_cache");
  const hid_t id = H5Dopen2(file.id(), path.c_str(), access.get());
  if (external) refuse_link(path);
  dataset_ = Handle(id, H5Dclose, "H5Dopen2");
  check_layout();
  type_ = Handle(H5Dget_type(dataset_.get()), H5Tclose, "H5Dget_type");
  check_type(element);
  check_shape();
  check_storage();
  check_filter_lengths();
} catch (const Failure& failure) {
  throw ObjectError(path, failure.what());
}

void InputDataset::refuse(const std::string& message) const { throw ObjectError(path_, message); }

/// Before the shape is asked for: that of a virtual dataset would open its sources.
void InputDataset::check_layout() {
  const Handle properties(H5Dget_create_plist(dataset_.get()), H5Pclose, "H5Dget_create_plist");
  layout_ = checked(H5Pget_layout(properties.get()), "H5Pget_layout");
  if (layout_ == H5D_VIRTUAL) refuse("is a virtual dataset; the data must be in this file");
  if (checked(H5Pget_external_count(properties.get()), "H5Pget_external_count") > 0) {
    refuse("has its data in external files; they must be in this file");
  }
  if (layout_ != H5D_CHUNKED) return;
  std::array<hsize_t, H5S_MAX_RANK> chunk{};
  checked(H5Pget_chunk(properties.get(), H5S_MAX_RANK, chunk.data()), "H5Pget_chunk");
  chunk_length_ = static_cast<std::int64_t>(std::min<hsize_t>(chunk[0], std::numeric_limits<std::int64_t>::max() / 16));
  unsigned options = 0;
  checked(H5Pget_chunk_opts(properties.get(), &options), "H5Pget_chunk_opts");
  filters_last_chunk_ = (options & H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS) == 0;
  read_filters(properties.get());
}

/// Only the filters that HDF5 has built in: plugins are code that a file's author chose (C6 of the user reports).
void InputDataset::read_filters(hid_t properties) {
  const int filters = checked(H5Pget_nfilters(properties), "H5Pget_nfilters");
  for (int i = 0; i < filters; ++i) {
    std::array<char, 64> name{};
    std::size_t count = 32;
    Filter filter{};
    filter.parameters.resize(count);
    filter.id = checked(H5Pget_filter2(properties, static_cast<unsigned>(i), nullptr, &count, filter.parameters.data(), name.size(), name.data(), nullptr), "H5Pget_filter2");
    filter.parameters.resize(std::min<std::size_t>(count, 32));
    const bool built_in = filter.id >= H5Z_FILTER_DEFLATE && filter.id <= H5Z_FILTER_SCALEOFFSET;
    name.back() = '\0';
    if (!built_in || H5Zfilter_avail(filter.id) <= 0) {
      refuse(fmt::format("needs the filter {} ({}), which is not built in, and plugins (HDF5_PLUGIN_PATH) are not loaded; "
                         "rewrite the file with h5repack -f GZIP=4",
                         static_cast<int>(filter.id), name[0] == '\0' ? "unnamed" : printable(name.data(), 40)));
    }
    // Deflate: at most 1032 to 1 (its longest match in two bits). Scale-offset stores a constant chunk in a few bytes; the others shrink less.
    if (filter.id == H5Z_FILTER_DEFLATE || filter.id == H5Z_FILTER_SZIP || filter.id == H5Z_FILTER_NBIT) expansion_ = std::max<std::uint64_t>(expansion_, 1100);
    if (filter.id == H5Z_FILTER_SCALEOFFSET) expansion_ = std::uint64_t{1} << 20;
    if (filter.id == H5Z_FILTER_SHUFFLE && !filter.parameters.empty()) filter.element_bytes = filter.parameters[0];
    filters_.push_back(std::move(filter));
  }
  for (const Filter& filter : filters_) decoded_filters_.push_back(filter);
  // Without filters HDF5 says one length of a chunk and reads another, both from the file: those it reads itself.
  decodes_ = !decoded_filters_.empty() && can_decode(decoded_filters_);
}

/// The filters that we leave to HDF5 carry the length of what they give in their parameters: it must be that of the chunk.
void InputDataset::check_filter_lengths() const {
  for (const Filter& filter : filters_) {
    if (filter.id != H5Z_FILTER_NBIT && filter.id != H5Z_FILTER_SCALEOFFSET) continue;
    constexpr std::size_t kElements = 2, kSize = 4;  // positions of both in the parameters of either filter
    if (filter.parameters.size() > kSize && filter.parameters[kElements] == static_cast<std::uint64_t>(chunk_length_) &&
        filter.parameters[kSize] == H5Tget_size(type_.get())) {
      continue;
    }
    refuse(fmt::format("the parameters of its filter {} do not fit its storage chunks", static_cast<int>(filter.id)));
  }
}

void InputDataset::check_type(Element element) {
  const H5T_class_t kind = H5Tget_class(type_.get());
  const char* const expected = element == Element::string ? "strings" : "integers";
  if (kind == H5T_FLOAT) refuse("holds floating-point numbers, expected integers (times are integers, in ns; sizes are integers, in bytes)");
  if (kind != (element == Element::string ? H5T_STRING : H5T_INTEGER)) refuse(fmt::format("holds {}, expected {}", class_name(kind), expected));
  if (element == Element::string) return;
  if (H5Tget_precision(type_.get()) > 64) refuse("holds integers of more than 64 bits");
  if (element == Element::byte && H5Tget_size(type_.get()) != 1) refuse(fmt::format("holds integers of {} bytes, expected 1", H5Tget_size(type_.get())));
  signed_ = H5Tget_sign(type_.get()) != H5T_SGN_NONE;
}

void InputDataset::check_shape() {
  space_ = Handle(H5Dget_space(dataset_.get()), H5Sclose, "H5Dget_space");
  const int rank = H5Sget_simple_extent_type(space_.get()) == H5S_NULL ? 0 : H5Sget_simple_extent_ndims(space_.get());
  if (rank != 1) refuse(fmt::format("has {} dimensions, expected 1", rank));
  hsize_t length = 0;
  checked(H5Sget_simple_extent_dims(space_.get(), &length, nullptr), "H5Sget_simple_extent_dims");
  if (length > static_cast<hsize_t>(std::numeric_limits<std::int64_t>::max() / 16)) refuse(fmt::format("declares {} elements", length));
  length_ = static_cast<std::int64_t>(length);
}

/// A few KB must not make us allocate terabytes: what is declared has to be there, give or take what filters can shrink.
void InputDataset::check_storage() const {
  // Small datasets may be unwritten (all fill values), whatever their layout.
  constexpr std::uint64_t kSmall = std::uint64_t{16} << 20;
  const std::uint64_t element = H5Tget_size(type_.get());
  const auto refuse_size = [&](std::uint64_t stored) {
    refuse(fmt::format("declares {} elements of {} bytes, but only {} bytes are stored in a file of {}", length_, element, stored, file_size_));
  };
  if (element == 0 || element > kLongestText) refuse(fmt::format("has elements of {} bytes", element));
  __extension__ using Wide = unsigned __int128;
  const Wide declared = Wide(static_cast<std::uint64_t>(length_)) * element;
  if (layout_ == H5D_CONTIGUOUS && length_ > 0) {
    const haddr_t offset = H5Dget_offset(dataset_.get());
    if (offset == HADDR_UNDEF && declared > kSmall) refuse_size(0);
    if (offset != HADDR_UNDEF && Wide(offset) + declared > Wide(file_size_)) refuse_size(file_size_ - std::min<std::uint64_t>(file_size_, offset));
    return;
  }
  if (layout_ == H5D_COMPACT && declared > H5Dget_storage_size(dataset_.get())) refuse_size(H5Dget_storage_size(dataset_.get()));
  if (layout_ != H5D_CHUNKED) return;
  const std::uint64_t stored = std::min<std::uint64_t>(H5Dget_storage_size(dataset_.get()), file_size_);
  const Wide allowed = Wide(stored) * expansion_ + kSmall;
  if (declared > allowed) refuse_size(stored);
  const Wide chunk = Wide(static_cast<std::uint64_t>(chunk_length_)) * element;
  // Decoding holds a chunk up to three times.
  if (length_ > 0 && (chunk > allowed || chunk > available_memory() / 3)) {
    refuse(fmt::format("has storage chunks of {} elements, too great for the {} bytes that are stored", chunk_length_, stored));
  }
}

std::int64_t InputDataset::piece_length(std::size_t element_bytes) const {
  const auto piece = std::max<std::int64_t>(1, static_cast<std::int64_t>(io_piece_bytes() / element_bytes));
  return chunk_length_ > 0 && piece > chunk_length_ ? piece - piece % chunk_length_ : piece;
}

template <typename Value>
void InputDataset::read_pieces(hid_t memory_type, std::int64_t first, std::span<Value> out) const try {
  const std::int64_t piece = piece_length(sizeof(Value)), end = first + static_cast<std::int64_t>(out.size());
  for (std::int64_t at = first; at < end;) {
    // Pieces end where storage chunks do, so that none is decompressed twice.
    const std::int64_t count = std::min(piece - at % piece, end - at);
    const hsize_t start = static_cast<hsize_t>(at), length = static_cast<hsize_t>(count);
    checked(H5Sselect_hyperslab(space_.get(), H5S_SELECT_SET, &start, nullptr, &length, nullptr), "H5Sselect_hyperslab");
    const Handle memory(H5Screate_simple(1, &length, nullptr), H5Sclose, "H5Screate_simple");
    Value* const to = out.data() + (at - first);
    checked(H5Dread(dataset_.get(), memory_type, memory.get(), space_.get(), H5P_DEFAULT, to), "H5Dread");
    at += count;
  }
} catch (const Failure& failure) {
  refuse(fmt::format("cannot be read, the file is damaged: {}", failure.what()));
}

bool InputDataset::load_chunk(std::int64_t index) const {
  if (chunk_.index == index) return true;
  const hsize_t offset = static_cast<hsize_t>(index) * static_cast<hsize_t>(chunk_length_);
  hsize_t stored = 0;
  if (H5Dget_chunk_storage_size(dataset_.get(), &offset, &stored) < 0) {
    // Some versions call it an error if other chunks were written and this one never was.
    if (innermost_error().find("not allocated") == std::string::npos) fail("H5Dget_chunk_storage_size");
    return false;
  }
  if (stored == 0) return false;
  const auto damaged = [&](const std::string& why) { refuse(fmt::format("the storage chunk at element {} is damaged: {}", offset, why)); };
  if (stored > file_size_) damaged(fmt::format("it says it has {} bytes, the file has {}", stored, file_size_));
  chunk_.index = -1;
  chunk_.bytes.resize(stored);
  std::uint32_t skipped = 0;
  checked(H5Dread_chunk(dataset_.get(), H5P_DEFAULT, &offset, &skipped, chunk_.bytes.data()), "H5Dread_chunk");
  const std::size_t chunk_bytes = static_cast<std::size_t>(chunk_length_) * H5Tget_size(type_.get());
  const bool filtered = filters_last_chunk_ || length_ - static_cast<std::int64_t>(offset) >= chunk_length_;
  const std::span<const ChunkFilter> filters = filtered ? std::span<const ChunkFilter>(decoded_filters_) : std::span<const ChunkFilter>();
  const std::string fault = decode_chunk(filters, skipped, chunk_bytes, chunk_.bytes);
  if (!fault.empty()) damaged(fault);
  chunk_.index = index;
  return true;
}

template <typename Value>
void InputDataset::read_chunks(hid_t memory_type, std::int64_t first, std::span<Value> out) const try {
  const std::size_t size = H5Tget_size(type_.get());
  const std::int64_t end = first + static_cast<std::int64_t>(out.size());
  std::vector<unsigned char> values;
  for (std::int64_t at = first; at < end;) {
    const std::int64_t in_chunk = at % chunk_length_, count = std::min(chunk_length_ - in_chunk, end - at);
    const std::span<Value> to = out.subspan(static_cast<std::size_t>(at - first), static_cast<std::size_t>(count));
    if (load_chunk(at / chunk_length_)) {
      const unsigned char* const from = chunk_.bytes.data() + static_cast<std::size_t>(in_chunk) * size;
      values.resize(static_cast<std::size_t>(count) * std::max(size, sizeof(Value)));
      std::memcpy(values.data(), from, static_cast<std::size_t>(count) * size);
      checked(H5Tconvert(type_.get(), memory_type, static_cast<std::size_t>(count), values.data(), nullptr, H5P_DEFAULT), "H5Tconvert");
      std::memcpy(to.data(), values.data(), to.size_bytes());
    } else {
      read_pieces(memory_type, at, to);
    }
    at += count;
  }
} catch (const Failure& failure) {
  refuse(fmt::format("cannot be read, the file is damaged: {}", failure.what()));
}

template <typename Value>
void InputDataset::read_values(hid_t memory_type, std::int64_t first, std::span<Value> out) const {
  decodes_ ? read_chunks(memory_type, first, out) : read_pieces(memory_type, first, out);
}

void InputDataset::read(std::int64_t first, std::span<std::int64_t> out) const {
  if (signed_) return read_values(H5T_NATIVE_INT64, first, out);
  // Read as unsigned: HDF5 would clamp what does not fit, without a word. A negative value here is one above 2^63 - 1.
  read_values(H5T_NATIVE_UINT64, first, out);
  const auto wrong = std::find_if(out.begin(), out.end(), [](std::int64_t value) { return value < 0; });
  if (wrong == out.end()) return;
  refuse(fmt::format("element {} is {}, above 2^63 - 1", first + (wrong - out.begin()), static_cast<std::uint64_t>(*wrong)));
}

void InputDataset::read_bytes(std::int64_t first, std::span<char> out) const {
  read_values(signed_ ? H5T_NATIVE_SCHAR : H5T_NATIVE_UCHAR, first, out);
}

std::vector<std::int64_t> InputDataset::read_all() const {
  std::vector<std::int64_t> values(static_cast<std::size_t>(length_));
  read(0, values);
  return values;
}

std::vector<std::string> InputDataset::read_strings(std::size_t limit) const {
  // Few at a time: many elements of variable length may point to one long text.
  constexpr std::int64_t kAtOnce = 16;
  const bool variable = checked(H5Tis_variable_str(type_.get()), "H5Tis_variable_str") > 0;
  const std::size_t size = H5Tget_size(type_.get());
  const H5T_str_t padding = H5Tget_strpad(type_.get());
  const Handle memory_type = string_memory_type(type_.get());
  std::vector<std::string> texts;
  std::vector<char> buffer(size * kAtOnce);
  std::size_t total = 0;
  for (std::int64_t at = 0; at < length_; at += kAtOnce) {
    const std::int64_t count = std::min(kAtOnce, length_ - at);
    const hsize_t start = static_cast<hsize_t>(at), length = static_cast<hsize_t>(count);
    checked(H5Sselect_hyperslab(space_.get(), H5S_SELECT_SET, &start, nullptr, &length, nullptr), "H5Sselect_hyperslab");
    const Handle memory(H5Screate_simple(1, &length, nullptr), H5Sclose, "H5Screate_simple");
    if (H5Dread(dataset_.get(), memory_type.get(), memory.get(), space_.get(), H5P_DEFAULT, buffer.data()) < 0) {
      refuse(fmt::format("cannot be read, the file is damaged: {}", printable(innermost_error(), 200)));
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const char* const field = buffer.data() + static_cast<std::size_t>(i) * size;
      char* text = nullptr;
      if (variable) std::memcpy(&text, field, sizeof text);
      texts.push_back(!variable ? unpadded(field, size, padding) : text == nullptr ? "" : text);
      total += texts.back().size() + sizeof(std::string);
    }
    if (variable) H5Dvlen_reclaim(memory_type.get(), memory.get(), H5P_DEFAULT, buffer.data());
    if (total > limit) refuse(fmt::format("holds more than {} bytes of text", limit));
  }
  return texts;
}

// ---------------------------------------------------------------------------------------------------- writing

namespace {

/// Fixed length, UTF-8, null-padded: read alike from C, Python and Fortran.
Handle text_type(std::size_t size) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "H5Tcopy");
  checked(H5Tset_size(type.get(), std::max<std::size_t>(size, 1)), "H5Tset_size");
  if (size != H5T_VARIABLE) checked(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), "H5Tset_strpad");
  checked(H5Tset_cset(type.get(), H5T_CSET_UTF8), "H5Tset_cset");
  return type;
}

void put_attribute(hid_t file, const std::string& name, hid_t stored, hid_t memory, const void* value) {
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose, "H5Screate");
  const Handle attribute(H5Acreate_by_name(file, "/", name.c_str(), stored, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Aclose, "H5Acreate_by_name");
  checked(H5Awrite(attribute.get(), memory, value), "H5Awrite");
}

}  // namespace

void throw_system_error(const std::string& file, const Failure& failure) {
  throw SystemError(fmt::format("{}: cannot be written: {}", printable(file, 300),
                                failure.code() != 0 ? std::generic_category().message(failure.code()) : failure.what()));
}

OutputFile::OutputFile(const std::string& path) : driver_(register_sink(), H5FDunregister, "H5FDregister") {
  try {
    create(path);
  } catch (const Failure&) {
    check();  // the errno says more
    throw;
  }
}

void OutputFile::create(const std::string& path) {
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "H5Pcreate");
  checked(H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG), "H5Pset_fclose_degree");
  checked(use_sink(access.get(), driver_.get(), status_), "H5Pset_driver");
  const hid_t id = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access.get());
  file_ = Handle(id, H5Fclose, "H5Fcreate");
}

void OutputFile::check() const {
  if (status_.error != 0) throw Failure("write failed", status_.error);
}

void OutputFile::make_group(const std::string& path) {
  Handle(H5Gcreate2(id(), path.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose, "H5Gcreate2").close("H5Gclose");
}

void OutputFile::set_attribute(const std::string& name, std::uint64_t value) {
  put_attribute(id(), name, H5T_STD_U64LE, H5T_NATIVE_UINT64, &value);
}

void OutputFile::set_attribute(const std::string& name, std::int64_t value) {
  put_attribute(id(), name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}

/// Fixed length; text that does not fit an object header (64 KiB in all) goes to the heap, as variable length.
void OutputFile::set_attribute(const std::string& name, const std::string& text) {
  constexpr std::size_t kInHeader = 8192;
  if (text.size() > kInHeader) {
    const Handle type = text_type(H5T_VARIABLE);
    const char* const pointer = text.c_str();
    return put_attribute(id(), name, type.get(), type.get(), &pointer);
  }
  const Handle type = text_type(text.size());
  put_attribute(id(), name, type.get(), type.get(), text.c_str());
}

void OutputFile::write_strings(const std::string& path, const std::vector<std::string>& texts) {
  std::size_t width = 1;
  for (const std::string& text : texts) width = std::max(width, text.size());
  std::vector<char> packed(width * texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) std::copy(texts[i].begin(), texts[i].end(), packed.begin() + static_cast<std::ptrdiff_t>(i * width));
  const Handle type = text_type(width);
  const auto count = static_cast<std::int64_t>(texts.size());
  const Handle dataset = make_dataset(id(), path, type.get(), count, 0);
  write_elements(dataset, type.get(), width, 0, count, packed.data(), false);
}

void OutputFile::write_array(const std::string& path, std::span<const std::int64_t> values, hid_t type) {
  const auto count = static_cast<std::int64_t>(values.size());
  constexpr std::int64_t kContiguous = 1024, kChunk = 1 << 16;
  const Handle dataset = make_dataset(id(), path, type, count, count <= kContiguous ? 0 : std::min(count, kChunk));
  write_elements(dataset, H5T_NATIVE_INT64, sizeof(std::int64_t), 0, count, values.data(), false);
}

void OutputFile::close() {
  file_.close("H5Fclose");
  check();
}

Handle make_dataset(hid_t file, const std::string& path, hid_t type, std::int64_t length, std::int64_t chunk) {
  const hsize_t size = static_cast<hsize_t>(length), greatest = chunk > 0 ? H5S_UNLIMITED : size;
  const Handle space(H5Screate_simple(1, &size, &greatest), H5Sclose, "H5Screate_simple");
  const Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "H5Pcreate");
  checked(H5Pset_obj_track_times(creation.get(), false), "H5Pset_obj_track_times");  // equal content, equal bytes
  const Handle access(H5Pcreate(H5P_DATASET_ACCESS), H5Pclose, "H5Pcreate");
  if (chunk > 0) {
    const hsize_t chunk_size = static_cast<hsize_t>(chunk);
    checked(H5Pset_chunk(creation.get(), 1, &chunk_size), "H5Pset_chunk");
    if (H5Zfilter_avail(H5Z_FILTER_DEFLATE) > 0) {
      checked(H5Pset_shuffle(creation.get()), "H5Pset_shuffle");
      checked(H5Pset_deflate(creation.get(), 1), "H5Pset_deflate");
    }
    // No cache: whole chunks are written, and a full disk shows at the write that met it.
    checked(H5Pset_chunk_cache(access.get(), 0, 0, 1.0), "H5Pset_chunk_cache");
  }
  return {H5Dcreate2(file, path.c_str(), type, space.get(), H5P_DEFAULT, creation.get(), access.get()), H5Dclose, "H5Dcreate2"};
}

void write_elements(const Handle& dataset, hid_t memory_type, std::size_t element_bytes, std::int64_t first, std::int64_t count,
                    const void* data, bool grow) {
  if (count == 0) return;
  const hsize_t end = static_cast<hsize_t>(first + count);
  if (grow) checked(H5Dset_extent(dataset.get(), &end), "H5Dset_extent");
  const Handle space(H5Dget_space(dataset.get()), H5Sclose, "H5Dget_space");
  const auto piece = std::max<std::int64_t>(1, static_cast<std::int64_t>(io_piece_bytes() / element_bytes));
  for (std::int64_t done = 0; done < count;) {
    const hsize_t start = static_cast<hsize_t>(first + done), length = static_cast<hsize_t>(std::min(piece, count - done));
    checked(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, &start, nullptr, &length, nullptr), "H5Sselect_hyperslab");
    const Handle memory(H5Screate_simple(1, &length, nullptr), H5Sclose, "H5Screate_simple");
    const char* const from = static_cast<const char*>(data) + static_cast<std::size_t>(done) * element_bytes;
    checked(H5Dwrite(dataset.get(), memory_type, memory.get(), space.get(), H5P_DEFAULT, from), "H5Dwrite");
    done += static_cast<std::int64_t>(length);
  }
}

}  // namespace pardnn::h5
