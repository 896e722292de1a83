#include "io/hdf5_sink.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <new>

namespace pardnn::h5 {

namespace {

/// What the access properties carry.
struct SinkAccess {
  SinkStatus* status;
};

/// The library sees the first member only.
struct SinkFile {
  H5FD_t base;
  int fd;
  haddr_t end_of_allocation, end_of_file;
  SinkStatus* status;
};

SinkFile& sink(H5FD_t* file) { return *reinterpret_cast<SinkFile*>(file); }
const SinkFile& sink(const H5FD_t* file) { return *reinterpret_cast<const SinkFile*>(file); }

void keep_first(SinkStatus& status) {
  if (status.error == 0) status.error = errno;
}

H5FD_t* sink_open(const char* name, unsigned flags, hid_t access, haddr_t) {
  const auto* given = static_cast<const SinkAccess*>(H5Pget_driver_info(access));
  if (given == nullptr || (flags & H5F_ACC_TRUNC) == 0) return nullptr;
  auto* file = new (std::nothrow) SinkFile{};
  if (file == nullptr) return nullptr;
  file->status = given->status;
  file->fd = ::open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file->fd < 0) {
    keep_first(*file->status);
    delete file;
    return nullptr;
  }
  return &file->base;
}

herr_t sink_close(H5FD_t* base) {
  SinkFile& file = sink(base);
  if (::close(file.fd) != 0) keep_first(*file.status);
  delete &file;
  return 0;
}

int sink_compare(const H5FD_t* a, const H5FD_t* b) {
  struct stat first {}, second {};
  if (::fstat(sink(a).fd, &first) != 0 || ::fstat(sink(b).fd, &second) != 0) return a < b ? -1 : 1;
  if (first.st_dev != second.st_dev) return first.st_dev < second.st_dev ? -1 : 1;
  return first.st_ino == second.st_ino ? 0 : first.st_ino < second.st_ino ? -1 : 1;
}

herr_t sink_query(const H5FD_t*, unsigned long* flags) {
  if (flags != nullptr) *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_AGGREGATE_SMALLDATA;
  return 0;
}

haddr_t sink_end_of_allocation(const H5FD_t* file, H5FD_mem_t) { return sink(file).end_of_allocation; }

herr_t sink_set_end_of_allocation(H5FD_t* file, H5FD_mem_t, haddr_t end) {
  sink(file).end_of_allocation = end;
  return 0;
}

haddr_t sink_end_of_file(const H5FD_t* file, H5FD_mem_t) { return sink(file).end_of_file; }

/// Past the end of the file there are zeros, as HDF5 expects.
herr_t sink_read(H5FD_t* base, H5FD_mem_t, hid_t, haddr_t address, std::size_t size, void* buffer) {
  const SinkFile& file = sink(base);
  char* to = static_cast<char*>(buffer);
  while (size > 0) {
    const ssize_t got = ::pread(file.fd, to, size, static_cast<off_t>(address));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) {
      std::memset(to, 0, size);
      if (got < 0) keep_first(*file.status);
      return 0;
    }
    to += got;
    address += static_cast<haddr_t>(got);
    size -= static_cast<std::size_t>(got);
  }
  return 0;
}

herr_t sink_write(H5FD_t* base, H5FD_mem_t, hid_t, haddr_t address, std::size_t size, const void* buffer) {
  SinkFile& file = sink(base);
  const char* from = static_cast<const char*>(buffer);
  const haddr_t end = address + size;
  while (size > 0 && file.status->error == 0) {
    const ssize_t put = ::pwrite(file.fd, from, size, static_cast<off_t>(address));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) {
      keep_first(*file.status);
      break;
    }
    from += put;
    address += static_cast<haddr_t>(put);
    size -= static_cast<std::size_t>(put);
  }
  file.end_of_file = std::max(file.end_of_file, end);
  return 0;
}

herr_t sink_truncate(H5FD_t* base, hid_t, hbool_t) {
  SinkFile& file = sink(base);
  if (file.status->error == 0 && file.end_of_file != file.end_of_allocation &&
      ::ftruncate(file.fd, static_cast<off_t>(file.end_of_allocation)) != 0) {
    keep_first(*file.status);
  }
  file.end_of_file = file.end_of_allocation;
  return 0;
}

/// Set member by member: the structure has more of them in each release.
H5FD_class_t make_class() {
  H5FD_class_t driver{};
#ifdef H5FD_CLASS_VERSION
  driver.version = H5FD_CLASS_VERSION;
  driver.value = static_cast<H5FD_class_value_t>(512);  // the range that is free for private use
#endif
  driver.name = "pardnn_sink";
  driver.maxaddr = (haddr_t{1} << 62) - 1;
  driver.fc_degree = H5F_CLOSE_STRONG;
  driver.fapl_size = sizeof(SinkAccess);
  driver.open = sink_open;
  driver.close = sink_close;
  driver.cmp = sink_compare;
  driver.query = sink_query;
  driver.get_eoa = sink_end_of_allocation;
  driver.set_eoa = sink_set_end_of_allocation;
  driver.get_eof = sink_end_of_file;
  driver.read = sink_read;
  driver.write = sink_write;
  driver.truncate = sink_truncate;
  constexpr H5FD_mem_t kMap[] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(kMap), std::end(kMap), driver.fl_map);
  return driver;
}

}  // namespace

hid_t register_sink() {
  static const H5FD_class_t driver = make_class();
  return H5FDregister(&driver);
}

herr_t use_sink(hid_t access, hid_t driver, SinkStatus& status) {
  const SinkAccess given{&status};
  return H5Pset_driver(access, driver, &given);
}

}  // namespace pardnn::h5
