/// Names the subcommands; turns exceptions into messages and exit codes.
#include <array>
#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/interrupt.hpp"
#include "cli/version.hpp"
#include "pardnn/error.hpp"

namespace pardnn::cli {

namespace {

constexpr const char* kExamples =
    "examples:\n"
    "  pardnn info model.h5\n"
    "  pardnn partition model.h5 --devices 4 --memory 32GiB -o placement.h5 -o placement.tsv\n"
    "  pardnn partition model.h5 --machine dgx2-16xv100-32gb --preset strong --time-limit 60s --json -\n"
    "  pardnn evaluate model.h5 placement.tsv --devices 4 --memory 32GiB --trace run.json\n"
    "  pardnn compare model.h5 --devices 8 --links ports\n"
    "  pardnn generate transformer --nodes 100000 -o big.h5\n"
    "exit codes: 0 done and feasible; 2 done, not feasible; 3 wrong usage or input; 4 the system failed; 128+n stopped by signal n";

struct Subcommand {
  CLI::App* app;
  Run run;
};

void complain(const std::string& line) { std::fprintf(stderr, "pardnn: error: %s\n", line.c_str()); }

/// Runs `work`; an exception becomes one line and its exit code.
template <typename Work>
int guarded(Work work) {
  try {
    return work();
  } catch (const InputError& error) {
    complain(error.what());
    return kWrongInput;
  } catch (const SystemError& error) {
    complain(error.what());
  } catch (const std::bad_alloc&) {
    complain("out of memory");
  } catch (const std::exception& error) {
    complain("internal error: " + printable(error.what(), 400));
  }
  return kSystemFailed;
}

int parse_and_run(int argc, char** argv) {
  CLI::App app("Places the operations of a training graph on devices: least time per step, within their memory.", "pardnn");
  app.require_subcommand(1);
  app.set_version_flag("--version", version_text());
  app.footer(kExamples);
  const std::array<std::pair<const char*, std::pair<const char*, Run (*)(CLI::App&)>>, 7> known{{
      {"partition", {"find a placement", add_partition}},
      {"evaluate", {"judge any placement, ours or not", add_evaluate}},
      {"compare", {"all methods side by side", add_compare}},
      {"info", {"size, levels, work, critical path, memory, parallelism", add_info}},
      {"validate", {"every error of a graph file", add_validate}},
      {"generate", {"seeded synthetic training graphs", add_generate}},
      {"convert", {"between the formats it reads and writes", add_convert}},
  }};
  std::vector<Subcommand> subcommands;
  for (const auto& entry : known) {
    CLI::App* subcommand = app.add_subcommand(entry.first, entry.second.first);
    subcommands.push_back({subcommand, entry.second.second(*subcommand)});
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& request) {  // --help, --version
    return app.exit(request) == 0 && std::fflush(stdout) == 0 ? kDone : kSystemFailed;
  } catch (const CLI::ParseError& error) {
    complain(printable(error.what(), 400) + "; see pardnn --help");
    return kWrongInput;
  }
  for (const Subcommand& subcommand : subcommands) {
    if (subcommand.app->parsed()) return subcommand.run();
  }
  return kWrongInput;
}

}  // namespace

}  // namespace pardnn::cli

int main(int argc, char** argv) {
  pardnn::cli::watch_signals();
  return pardnn::cli::guarded([&] { return pardnn::cli::parse_and_run(argc, argv); });
}
