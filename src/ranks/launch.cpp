#include "ranks/launch.hpp"

#include <array>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "pardnn/error.hpp"

namespace pardnn {

namespace {

using Environment = std::function<const char*(const char*)>;

/// The number that a variable holds, or -1.
int number_in(const Environment& environment, const char* name) {
  const char* text = environment(name);
  if (text == nullptr) return -1;
  const std::string_view view(text);
  int value = 0;
  const auto [end, error] = std::from_chars(view.data(), view.data() + view.size(), value);
  return error == std::errc{} && end == view.data() + view.size() && value >= 0 ? value : -1;
}

bool is_set(const Environment& environment, const char* name) { return environment(name) != nullptr; }

/// The launcher's own variables first: inside an allocation, Slurm's describe the allocation and not what mpirun started in it.
constexpr std::array kSizes{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"};
constexpr std::array kProcesses{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
/// Set by mpirun (Open MPI 4, 5: PMIx; MPICH: PMI) and by srun with a PMI plugin.
constexpr std::array kMpi{"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMIX_NAMESPACE", "PMI_RANK", "PMI_FD", "PMI_PORT"};

std::string hint(const Launch& launch, const std::string& library) {
  if (library.empty()) return "this pardnn was built without MPI (pardnn --version): build it with -DPARDNN_MPI=ON";
  if (launch.source.starts_with("SLURM") || !launch.has_mpi) {
    return fmt::format("start it by mpirun, or by srun --mpi=pmix (srun --mpi=list shows what there is; MPI here: {})", library);
  }
  return fmt::format("is the launcher that of the MPI library that pardnn was built with ({})?", library);
}

}  // namespace

Launch find_launch(const Environment& environment) {
  Launch launch;
  for (const char* name : kSizes) {
    launch.size = number_in(environment, name);
    if (launch.size <= 0) continue;
    launch.source = fmt::format("{}={}", name, launch.size);
    break;
  }
  if (launch.size < 0) launch.size = 0;
  for (const char* name : kProcesses) {
    if (const int process = number_in(environment, name); process >= 0) {
      launch.process = process;
      break;
    }
  }
  for (const char* name : kMpi) launch.has_mpi = launch.has_mpi || is_set(environment, name);
  return launch;
}

void require_all_ranks(const Launch& launch, int ranks, int wanted, const std::string& library) {
  if (wanted > 0) {
    if (ranks == wanted) return;
    throw InputError(fmt::format("--ranks {}: but {} found each other; {}", wanted, ranks == 1 ? "no two ranks" : fmt::format("{} ranks", ranks),
                                 hint(launch, library)));
  }
  if (launch.size <= 1 || ranks > 1) return;
  throw InputError(fmt::format("{} in the environment, but this process is alone: each of them would do the same work and write the same files; {}; "
                               "--ranks 1 if one process is what you want", launch.source, hint(launch, library)));
}

}  // namespace pardnn
