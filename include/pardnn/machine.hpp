/// The machine: K devices, their memory and speed, and the links between them (machine-format.md, model.md).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "pardnn/ids.hpp"
#include "pardnn/units.hpp"

namespace pardnn {

/// How links carry tensors (model.md, Emulated run): `free` without contention, `ports` one sending port per device.
enum class Links { free, ports };

struct Device {
  std::string name;
  Bytes capacity = kUnlimited;
  Millionths speed = kOne;
  int host = 0;
};

struct Machine {
  std::string name;
  std::vector<Device> devices;
  /// K x K, row = sender; the diagonal is never read.
  std::vector<Nanoseconds> latency;
  std::vector<BytesPerSecond> bandwidth;
  Millionths headroom = 100'000;
  Links links = Links::free;

  DeviceId num_devices() const { return static_cast<DeviceId>(devices.size()); }
  std::size_t link(DeviceId p, DeviceId q) const {
    return static_cast<std::size_t>(p) * devices.size() + static_cast<std::size_t>(q);
  }
  /// Bytes that a placement may use on p: floor(capacity * (10^6 - headroom) / 10^6). Unlimited stays unlimited.
  Bytes usable(DeviceId p) const;
  Millionths fastest_speed() const;
  Millionths total_speed() const;
};

/// K equal devices on one host, named "gpu0" ...
Machine homogeneous_machine(DeviceId devices, Bytes memory = kUnlimited, BytesPerSecond bandwidth = 150'000'000'000,
                            Nanoseconds latency = 5'000);
/// A machine file, or the name of a shipped one ("dgx1-8xv100", ...). Throws InputError.
Machine read_machine(const std::string& file_or_name);
/// The same from JSON text; `origin` is named in errors.
Machine parse_machine(const std::string& json_text, const std::string& origin);
/// The machine as JSON in the schema of machine-format.md with full matrices; parse_machine gives it back.
std::string machine_json(const Machine& machine);

}  // namespace pardnn
