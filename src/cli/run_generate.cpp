#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/interrupt.hpp"
#include "cli/output_files.hpp"
#include "cli/report.hpp"
#include "cli/session.hpp"
#include "core/nearest.hpp"
#include "generators/generators.hpp"
#include "io/text_file.hpp"
#include "pardnn/error.hpp"
#include "pardnn/io.hpp"

namespace pardnn::cli {

namespace {

struct Flags {
  GenerateOptions options;
  std::string output;
  SessionFlags session;
};

/// Unwinds a run that a signal ended, so that the half-written temporary file is removed.
struct Interrupted {};

/// Passes everything on, and leaves the work by an exception once a signal was caught.
class InterruptibleProgress : public Progress {
 public:
  explicit InterruptibleProgress(Progress& inner) : inner_(inner) {}
  void stage_begins(std::string_view name, std::int64_t steps) override { inner_.stage_begins(name, steps); }
  void stage_reaches(std::int64_t step) override {
    if (caught_signal() != 0) throw Interrupted{};
    inner_.stage_reaches(step);
  }
  void stage_ends() override { inner_.stage_ends(); }
  void note(std::string_view line) override { inner_.note(line); }

 private:
  Progress& inner_;
};

void check_kind(const std::string& kind) {
  const std::vector<std::string_view>& kinds = generator_kinds();
  for (const std::string_view known : kinds) {
    if (known == kind) return;
  }
  throw InputError(fmt::format("unknown kind of graph '{}'; did you mean '{}'? known: {}", printable(kind, 40), nearest(kind, kinds), listed(kinds)));
}

int run(const Flags& flags) {
  check_kind(flags.options.kind);
  check_extension(flags.output, {".h5", ".hdf5", ".json", ".dot", ".gv"}, "a graph file");
  check_outputs({flags.output}, {});
  const std::int64_t nodes = generated_nodes(flags.options);
  Session session(flags.session);
  InterruptibleProgress progress(session.display());
  save_work_on_signals();
  try {
    const std::string extension = extension_of(flags.output);
    if (extension == ".h5" || extension == ".hdf5") {
      generate(flags.options, flags.output, &progress);
    } else {
      write_graph_data(flags.output, generate_in_memory(flags.options));
    }
  } catch (const Interrupted&) {
    session.display().print("stopped by a signal: nothing was written\n");
    return kSignal + caught_signal();
  }
  session.display().print(fmt::format("{}: {} nodes, kind {}, seed {}, in {:.2f} s\n", printable(flags.output), grouped(nodes), flags.options.kind,
                                      flags.options.seed, session.elapsed_seconds()));
  return caught_signal() != 0 ? kSignal + caught_signal() : kDone;
}

}  // namespace

Run add_generate(CLI::App& app) {
  const auto flags = std::make_shared<Flags>();
  GenerateOptions& options = flags->options;
  const auto count = [&app](const char* name, std::int64_t& value, const char* help) {
    add_count_flag(app, name, value, kGreatestGeneratedGraph, help, "N");
  };
  app.add_option("kind", options.kind, "mlp, transformer, lstm, wrn, inception or random")->required()->type_name("KIND");
  app.add_option("-o,--output", flags->output, "graph file: .h5 (any size), .json or .dot")->required()->type_name("GRAPH.h5");
  count("--nodes", options.nodes, "wanted number of nodes (10000)");
  add_seed_flag(app, options.seed, "seed (1)");
  count("--layers", options.layers, "layers, blocks or modules (chosen to meet --nodes)");
  count("--width", options.width, "hidden size or channels; nodes in a layer of random");
  count("--steps", options.steps, "time steps of lstm");
  count("--micro-batches", options.micro_batches, "copies of the forward and backward pass whose gradients are summed");
  count("--batch", options.batch, "samples of one micro-batch");
  app.add_flag("--names", options.names, "write a name for every node");
  app.add_option("--progress", flags->session.progress, "auto, bar, log or none")->type_name("WORD");
  app.add_flag("-q,--quiet", flags->session.quiet, "errors only");
  app.footer("example: pardnn generate transformer --nodes 100000 --micro-batches 8 -o big.h5");
  return [flags](const RunContext&) { return run(*flags); };
}

}  // namespace pardnn::cli
