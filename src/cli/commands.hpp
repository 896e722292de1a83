/// The subcommands: each adds its flags to its own part of the parser and gives what to run once they are parsed.
#pragma once

#include <functional>

#include "cli/run_context.hpp"

namespace CLI {
class App;
}

namespace pardnn::cli {

/// Runs the parsed subcommand and gives the exit code. Throws InputError, SystemError.
using Run = std::function<int(const RunContext&)>;

Run add_partition(CLI::App& app);
Run add_evaluate(CLI::App& app);
Run add_compare(CLI::App& app);
Run add_plan(CLI::App& app);
Run add_report(CLI::App& app);
Run add_info(CLI::App& app);
Run add_validate(CLI::App& app);
Run add_generate(CLI::App& app);
Run add_convert(CLI::App& app);

}  // namespace pardnn::cli
