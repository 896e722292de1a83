/// The way in which HDF5 files are written: a file driver that survives a full disk.
///
/// With HDF5's own drivers a write that fails while a file is closed leaves the library in a state in which it crashes at the
/// end of the process (1.10.8). This driver keeps the errno of the first failure, drops everything after it, and lets the library
/// close in peace; the writer asks for the failure then. No locks: the file is a fresh temporary of ours.
#pragma once

#include <hdf5.h>

namespace pardnn::h5 {

/// Where the driver leaves the errno of its first failure, 0 while all is well. Must outlive the file.
struct SinkStatus {
  int error = 0;
};

/// Registers the driver; release with H5FDunregister once the access properties are closed. Negative: failure.
hid_t register_sink();

/// Makes `access` (file access properties) create files through the driver. Negative: failure.
herr_t use_sink(hid_t access, hid_t driver, SinkStatus& status);

}  // namespace pardnn::h5
