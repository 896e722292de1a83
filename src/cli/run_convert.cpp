#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/interrupt.hpp"
#include "cli/loaded_graph.hpp"
#include "cli/option_flags.hpp"
#include "cli/output_files.hpp"
#include "cli/placement_files.hpp"
#include "pardnn/error.hpp"
#include "pardnn/io.hpp"

namespace pardnn::cli {

namespace {

struct Flags {
  std::string input, output;
  std::optional<std::string> graph;
};

void convert_graph(const Flags& flags) {
  check_extension(flags.output, {".h5", ".hdf5", ".json", ".dot", ".gv"}, "a graph file");
  check_outputs({flags.output}, {flags.input});
  GraphData data = [&] {
    const ReadGuard guard(flags.input);
    return read_graph_data(flags.input, {.names = true, .operations = true});
  }();
  const std::vector<Finding> findings = check_graph(data, 1);
  if (!findings.empty()) throw InputError(fmt::format("{}: {}: {}", printable(flags.input), findings[0].dataset, findings[0].message));
  save_work_on_signals();
  write_graph_data(flags.output, data);
}

/// A placement needs its graph for the names and their order.
void convert_placement(const Flags& flags) {
  check_placement_extension(flags.output);
  check_outputs({flags.output}, {flags.input, *flags.graph});
  Session session({});
  const LoadedGraph loaded = load_graph(*flags.graph, true, session);
  PlacementFile file = read_placement_for(flags.input, loaded);
  if (file.graph_fingerprint.empty()) {
    file.graph_name = loaded.graph.name();
    file.graph_fingerprint = loaded.graph.fingerprint();
  }
  save_work_on_signals();
  write_placement_file(flags.output, file, loaded.names);
}

int run(const Flags& flags) {
  flags.graph ? convert_placement(flags) : convert_graph(flags);
  return caught_signal() != 0 ? kSignal + caught_signal() : kDone;
}

}  // namespace

Run add_convert(CLI::App& app) {
  const auto flags = std::make_shared<Flags>();
  app.add_option("in", flags->input, "graph file (.h5, .json, .dot), or with --graph a placement (.h5, .tsv, .json)")->required()->type_name("IN");
  app.add_option("out", flags->output, "file to write; its extension picks the format")->required()->type_name("OUT");
  add_text_flag(app, "--graph", flags->graph, "the graph of the placement IN", "GRAPH.h5");
  app.footer("examples: pardnn convert model.h5 model.dot\n          pardnn convert placement.h5 placement.tsv --graph model.h5");
  return [flags](const RunContext&) { return run(*flags); };
}

}  // namespace pardnn::cli
