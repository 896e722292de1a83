#include <cstdio>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/interrupt.hpp"
#include "pardnn/error.hpp"
#include "pardnn/io.hpp"

namespace pardnn::cli {

namespace {

int run(const std::string& file) {
  const std::vector<Finding> findings = [&] {
    const ReadGuard guard(file);
    return validate_graph_file(file);
  }();
  for (const Finding& finding : findings) {
    const std::string where = finding.dataset.empty() ? "" : finding.dataset + ": ";
    std::fprintf(stderr, "%s: %s%s\n", printable(file).c_str(), where.c_str(), finding.message.c_str());
  }
  if (findings.empty()) {
    std::fprintf(stderr, "%s: a valid graph\n", printable(file).c_str());
    return kDone;
  }
  std::fprintf(stderr, "%s: %zu error%s\n", printable(file).c_str(), findings.size(), findings.size() == 1 ? "" : "s");
  return kWrongInput;
}

}  // namespace

Run add_validate(CLI::App& app) {
  const auto file = std::make_shared<std::string>();
  app.add_option("file", *file, "graph file")->required()->type_name("FILE");
  app.footer("example: pardnn validate model.h5");
  return [file](const RunContext&) { return run(*file); };
}

}  // namespace pardnn::cli
