#include "io/checkpoint_file.hpp"

#include <limits>

#include <fmt/format.h>

#include "io/hdf5_file.hpp"
#include "pardnn/error.hpp"
#include "pardnn/io.hpp"

namespace pardnn {

namespace {

using h5::InputDataset;
using h5::InputFile;
using h5::ObjectError;

[[noreturn]] void refuse(const std::string& file, const std::string& what) { throw InputError(fmt::format("{}: {}", printable(file), what)); }

void check_head(const InputFile& in) {
  const auto format = in.string_attribute("format");
  if (!format || *format != "pardnn-checkpoint") throw ObjectError("/format", "is not 'pardnn-checkpoint': not a checkpoint");
  if (in.integer_attribute("version") != 1) throw ObjectError("/version", "is not 1");
}

void check_run(const InputFile& in, const RunIdentity& run) {
  for (const auto& [name, value] : run) {
    const std::string found = in.string_attribute("run_" + name).value_or("");
    if (found == value) continue;
    throw InputError(fmt::format("{}: is the checkpoint of another run: its {} is '{}', this run's is '{}'; remove it or name another file", printable(in.name()), name,
                                 printable(found, 60), printable(value, 60)));
  }
}

std::int64_t number(const InputFile& in, const char* name) {
  const auto value = in.integer_attribute(name);
  if (!value || *value < 0) throw ObjectError(std::string("/") + name, "is missing or negative");
  return *value;
}

std::vector<std::int64_t> per_node(const InputFile& in, const char* path, std::int64_t num_nodes) {
  const InputDataset dataset(in, path, InputDataset::Element::integer);
  if (dataset.length() != num_nodes) throw ObjectError(path, fmt::format("has length {}, expected {}", dataset.length(), num_nodes));
  return dataset.read_all();
}

CheckpointBest read_best(const InputFile& in, std::int64_t num_nodes) {
  CheckpointBest best;
  best.index = number(in, "best_index");
  best.overflow = number(in, "overflow_bytes");
  best.makespan = number(in, "makespan_ns");
  best.peak = number(in, "peak_bytes");
  best.origin = in.string_attribute("origin").value_or("");
  for (const std::int64_t device : per_node(in, "/device", num_nodes)) {
    if (device < 0 || device > std::numeric_limits<DeviceId>::max()) throw ObjectError("/device", fmt::format("{} is out of range", device));
    best.device.push_back(static_cast<DeviceId>(device));
  }
  if (in.has("/priority")) best.priority = per_node(in, "/priority", num_nodes);
  return best;
}

void write(const std::string& temporary, const CheckpointFile& checkpoint) {
  h5::OutputFile out(temporary);
  out.set_attribute("format", "pardnn-checkpoint");
  out.set_attribute("version", std::int64_t{1});
  std::int64_t done = 0;
  for (std::size_t i = 0; i + 1 < checkpoint.done.size(); i += 2) done += checkpoint.done[i + 1] - checkpoint.done[i] + 1;
  out.set_attribute("seeds_done", done);
  for (const auto& [name, value] : checkpoint.run) out.set_attribute("run_" + name, value);
  out.write_array("/done", checkpoint.done, H5T_STD_I64LE);
  if (const auto& best = checkpoint.best) {
    out.set_attribute("best_index", best->index);
    out.set_attribute("overflow_bytes", best->overflow);
    out.set_attribute("makespan_ns", best->makespan);
    out.set_attribute("peak_bytes", best->peak);
    out.set_attribute("origin", best->origin);
    const std::vector<std::int64_t> devices(best->device.begin(), best->device.end());
    out.write_array("/device", devices, H5T_STD_I32LE);
    if (!best->priority.empty()) out.write_array("/priority", best->priority, H5T_STD_I64LE);
  }
  out.close();
}

}  // namespace

CheckpointFile read_checkpoint_file(const std::string& file, const RunIdentity& run, std::int64_t num_nodes) try {
  const InputFile in(file, "a checkpoint in HDF5");
  check_head(in);
  check_run(in, run);
  CheckpointFile checkpoint;
  checkpoint.run = run;
  checkpoint.done = InputDataset(in, "/done", InputDataset::Element::integer).read_all();
  if (in.integer_attribute("best_index")) checkpoint.best = read_best(in, num_nodes);
  return checkpoint;
} catch (const ObjectError& error) {
  refuse(file, error.object() + ": " + error.what());
} catch (const h5::Failure& failure) {
  refuse(file, failure.what());
}

void write_checkpoint_file(const std::string& file, const CheckpointFile& checkpoint) {
  write_atomically(file, [&](const std::string& temporary) {
    try {
      write(temporary, checkpoint);
    } catch (const h5::Failure& failure) {
      h5::throw_system_error(file, failure);
    }
  });
}

}  // namespace pardnn
