/// Names the subcommands; turns exceptions into messages and exit codes.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/interrupt.hpp"
#include "cli/version.hpp"
#include "core/nearest.hpp"
#include "mpi/mpi_ranks.hpp"
#include "pardnn/error.hpp"
#include "ranks/bytes.hpp"

namespace pardnn::cli {

namespace {

constexpr const char* kExamples =
    "examples:\n"
    "  pardnn info model.h5\n"
    "  pardnn partition model.h5 --devices 4 --memory 32GiB -o placement.h5 -o placement.tsv\n"
    "  pardnn partition model.h5 --machine dgx2-16xv100-32gb --preset strong --time-limit 60s --json -\n"
    "  pardnn evaluate model.h5 placement.tsv --devices 4 --memory 32GiB --trace run.json\n"
    "  pardnn plan model.h5 --machine a100-2hosts-8x40gb -o plan.json\n"
    "  pardnn report model.h5 placement.h5 -o report.html\n"
    "  pardnn compare model.h5 --devices 8 --links ports\n"
    "  pardnn generate transformer --nodes 100000 -o big.h5\n"
    "exit codes: 0 done and feasible; 2 done, not feasible; 3 wrong usage or input; 4 the system failed; 128+n stopped by signal n";

struct Subcommand {
  CLI::App* app;
  Run run;
};

/// Memory that is freed is used again instead of going back to the system page by page: half of the system time at 10^6 nodes.
void keep_freed_memory() {
#ifdef __GLIBC__
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, 2'000'000'000);
#endif
}

/// `origin`: "" or "rank 3 on host: ".
void complain(const std::string& line, const std::string& origin = "") { std::fprintf(stderr, "pardnn: error: %s%s\n", origin.c_str(), line.c_str()); }

struct Failure {
  std::string line;  ///< empty: none
  int code = kDone;
};

/// Runs `work`; an exception becomes one line and its exit code.
template <typename Work>
Failure failure_of(Work work) {
  try {
    work();
    return {};
  } catch (const InputError& error) {
    return {error.what(), kWrongInput};
  } catch (const SystemError& error) {
    return {error.what(), kSystemFailed};
  } catch (const std::bad_alloc&) {
    return {"out of memory", kSystemFailed};
  } catch (const std::exception& error) {
    return {"internal error: " + printable(error.what(), 400), kSystemFailed};
  }
}

struct Known {
  const char* name;
  const char* what;
  Run (*add)(CLI::App&);
};

constexpr std::array kKnown{
    Known{"partition", "find a placement", add_partition},
    Known{"evaluate", "judge any placement, ours or not", add_evaluate},
    Known{"compare", "all methods side by side", add_compare},
    Known{"plan", "replicas and devices for a cluster: every split, ranked by samples per second", add_plan},
    Known{"report", "one page about a placement: timeline, memory, critical chain", add_report},
    Known{"info", "size, levels, work, critical path, memory, parallelism", add_info},
    Known{"validate", "every error of a graph file", add_validate},
    Known{"generate", "seeded synthetic training graphs", add_generate},
    Known{"convert", "between the formats it reads and writes", add_convert},
};

/// Throws InputError if the first word is no subcommand.
void check_subcommand(std::string_view word) {
  std::vector<std::string_view> names;
  for (const Known& known : kKnown) names.push_back(known.name);
  if (word.starts_with("-") || std::find(names.begin(), names.end(), word) != names.end()) return;
  throw InputError(fmt::format("unknown subcommand '{}'; did you mean '{}'? known: {}", printable(word, 40), nearest(word, names), listed(names)));
}

/// What was typed and means nothing to `subcommand`, with the nearest flag.
std::string unexpected_text(const CLI::App& subcommand) {
  const std::vector<std::string> extras = subcommand.remaining();
  const auto flag = std::find_if(extras.begin(), extras.end(), [](const std::string& extra) { return extra.starts_with("-"); });
  if (flag == extras.end()) return fmt::format("unexpected '{}'", extras.empty() ? "" : printable(extras.front(), 60));
  std::vector<std::string> flags;
  for (const CLI::Option* option : subcommand.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  const std::vector<std::string_view> known(flags.begin(), flags.end());
  const std::string typed = flag->substr(0, flag->find('='));
  return fmt::format("unknown flag '{}'; did you mean '{}'?", printable(typed, 60), nearest(typed, known));
}

/// What rank 0 does for all, and what all do together; on other ranks nothing is printed.
int parse_and_run(int argc, char** argv, const RunContext& context) {
  const bool speaks = context.ranks.is_first();
  if (argc > 1) check_subcommand(argv[1]);
  CLI::App app("Places the operations of a training graph on devices: least time per step, within their memory.", "pardnn");
  app.require_subcommand(1);
  app.set_version_flag("--version", version_text());
  app.footer(kExamples);
  std::vector<Subcommand> subcommands;
  for (const Known& known : kKnown) {
    CLI::App* subcommand = app.add_subcommand(known.name, known.what);
    subcommands.push_back({subcommand, known.add(*subcommand)});
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {  // --help, --version
    if (!speaks) return kDone;
    return app.exit(request) == 0 && std::fflush(stdout) == 0 ? kDone : kSystemFailed;
  } catch (const CLI::ExtrasError&) {
    const std::vector<CLI::App*> chosen = app.get_subcommands();
    if (speaks) complain(unexpected_text(chosen.empty() ? app : *chosen.front()));
    return kWrongInput;
  } catch (const CLI::ParseError& error) {
    if (speaks) complain(printable(error.what(), 400) + "; see pardnn --help");
    return kWrongInput;
  }
  for (const Subcommand& subcommand : subcommands) {
    if (!subcommand.app->parsed()) continue;
    // Only a search has work for many.
    const bool takes_part = speaks || subcommand.app->get_name() == "partition";
    return takes_part ? subcommand.run(context) : kDone;
  }
  return kWrongInput;
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? printable(name.data(), 60) : "?";
}

/// Says what failed here, and ends all ranks. What fails on all ranks alike is rank 0's to say: the others hold back, the later the
/// higher their rank, and are gone before their turn.
void end_all(Ranks& ranks, const Failure& failure) {
  if (!ranks.is_first()) std::this_thread::sleep_for(std::chrono::milliseconds(std::min(2000 + 100 * ranks.rank(), 6000)));
  complain(failure.line, ranks.size() > 1 ? fmt::format("rank {} on {}: ", ranks.rank(), host_name()) : "");
  std::fflush(nullptr);
  ranks.abort(failure.code);
}

/// Collective: the exit code of rank 0, once all are through.
int finish_together(Ranks& ranks, int code) {
  ByteWriter out;
  out.put(code);
  ByteBuffer bytes = out.take();
  ranks.broadcast(bytes);
  ranks.finish();
  return ByteReader(bytes).get<int>();
}

int run_program(int argc, char** argv) {
  const Launch launch = find_launch([](const char* name) -> const char* { return std::getenv(name); });
  if (launch.process != 0) end_silently_on_signals();
  StartedRanks started;
  if (const Failure failure = failure_of([&] { started = start_ranks(launch); }); failure.code != kDone) {
    complain(failure.line);
    return failure.code;
  }
  Ranks& ranks = *started.ranks;
  int code = kDone;
  const Failure failure = failure_of([&] {
    code = parse_and_run(argc, argv, {ranks, launch, started.one_thread_only});
    std::fflush(nullptr);
    code = finish_together(ranks, code);
  });
  if (failure.code == kDone) return code;
  // Processes that do not know of one another all fail alike: the first one speaks.
  if (ranks.size() > 1) end_all(ranks, failure);
  if (launch.process == 0) complain(failure.line);
  return failure.code;
}

}  // namespace

}  // namespace pardnn::cli

int main(int argc, char** argv) {
  pardnn::cli::keep_freed_memory();
  pardnn::cli::watch_signals();
  if (argc > 1 && std::string_view(argv[1]) == "partition") pardnn::cli::let_usr1_ask_for_result();
  const int code = pardnn::cli::run_program(argc, argv);
  std::fflush(nullptr);
  // HDF5 tries again at exit to write what a full disk refused, and crashes (1.10): everything is closed by now, so leave at once.
  std::_Exit(code);
}
