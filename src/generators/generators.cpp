#include "generators/generators.hpp"

#include <algorithm>
#include <string>

#include "generators/recipe.hpp"
#include "io/graph_writer.hpp"
#include "pardnn/error.hpp"

namespace pardnn {
namespace {

constexpr const char* kProducer = "pardnn generate; analytic V100-like times";

struct Family {
  std::string_view kind;
  GraphRecipe (*recipe)(const GenerateOptions&);
  bool has_steps, has_micro_batches;
};

constexpr Family kFamilies[] = {
    {"mlp", mlp_recipe, false, true},         {"transformer", transformer_recipe, false, true},
    {"lstm", lstm_recipe, true, true},        {"wrn", wide_resnet_recipe, false, true},
    {"inception", inception_recipe, false, true}, {"random", random_dag_recipe, false, false},
};

void check_range(const char* flag, std::int64_t value, std::int64_t least, std::int64_t greatest) {
  if (value >= least && value <= greatest) return;
  throw InputError(std::string("generate: ") + flag + " " + std::to_string(value) + " is not in " + std::to_string(least) + " .. " +
                   std::to_string(greatest));
}

const Family& family_of(const GenerateOptions& options) {
  for (const Family& family : kFamilies) {
    if (family.kind == options.kind) return family;
  }
  std::string known;
  for (const Family& family : kFamilies) known += (known.empty() ? "" : ", ") + std::string(family.kind);
  throw InputError("generate: unknown kind '" + printable(options.kind) + "'; known: " + known);
}

GraphRecipe recipe_of(const GenerateOptions& options) {
  const Family& family = family_of(options);
  check_range("--nodes", options.nodes, 1, kGreatestGeneratedGraph);
  check_range("--layers", options.layers, 0, 100'000'000);
  check_range("--width", options.width, 0, 100'000'000);
  check_range("--steps", options.steps, 0, family.has_steps ? 10'000'000 : 0);
  check_range("--micro-batches", options.micro_batches, 0, family.has_micro_batches ? 1'000'000 : 0);
  GraphRecipe recipe = family.recipe(options);
  if (recipe.num_nodes > kGreatestGeneratedGraph) {
    throw InputError("generate: these options give " + std::to_string(recipe.num_nodes) + " nodes; at most " +
                     std::to_string(kGreatestGeneratedGraph) + " are generated");
  }
  return recipe;
}

/// Keeps the sums of graph-format.md below 2^62.
class SumCheck {
 public:
  void add(const NodeRecord& record) {
    add(comp_, record.comp, "/nodes/comp");
    add(memory_, record.mem, "/nodes/mem");
    add(memory_, record.temp, "/nodes/temp");
    for (const auto& edge : record.successors) add(bytes_, edge.bytes, "/edges/bytes");
  }

 private:
  static void add(std::int64_t& sum, std::int64_t value, const char* dataset) {
    if (value >= kSumLimit - sum) throw InputError(std::string("generate: the sum of ") + dataset + " would reach 2^62; ask for a smaller graph");
    sum += value;
  }
  std::int64_t comp_ = 0, memory_ = 0, bytes_ = 0;
};

/// Nodes and their rows, until there are enough of them to write.
class Block {
 public:
  void add(const NodeRecord& record, bool with_name) {
    comp_.push_back(record.comp);
    mem_.push_back(record.mem);
    temp_.push_back(record.temp);
    kind_.push_back(static_cast<std::int64_t>(record.kind));
    colocation_.push_back(record.colocation);
    alias_.push_back(record.alias);
    gradient_of_.push_back(record.gradient_of);
    op_.push_back(record.op);
    degrees_.push_back(static_cast<std::int64_t>(record.successors.size()));
    for (const auto& edge : record.successors) {
      targets_.push_back(edge.node);
      bytes_.push_back(edge.bytes);
    }
    if (!with_name) return;
    names_ += record.name;
    name_ends_.push_back(static_cast<std::int64_t>(names_.size()));
  }

  bool is_full() const { return comp_.size() + targets_.size() >= 65'536; }

  void write_to(GraphFileWriter& writer) {
    writer.append_nodes({comp_, mem_, temp_, kind_, colocation_, alias_, {}, gradient_of_, op_, name_ends_, names_});
    writer.append_edges({degrees_, targets_, bytes_, {}});
    for (auto* list : {&comp_, &mem_, &temp_, &kind_, &colocation_, &alias_, &gradient_of_, &op_, &degrees_, &targets_, &bytes_, &name_ends_}) {
      list->clear();
    }
    names_.clear();
  }

 private:
  std::vector<std::int64_t> comp_, mem_, temp_, kind_, colocation_, alias_, gradient_of_, op_, degrees_, targets_, bytes_, name_ends_;
  std::string names_;
};

}  // namespace

const std::vector<std::string_view>& generator_kinds() {
  static const std::vector<std::string_view> kinds = [] {
    std::vector<std::string_view> list;
    for (const Family& family : kFamilies) list.push_back(family.kind);
    return list;
  }();
  return kinds;
}

std::int64_t generated_nodes(const GenerateOptions& options) { return recipe_of(options).num_nodes; }

void generate(const GenerateOptions& options, const std::string& file, Progress* progress) {
  const GraphRecipe recipe = recipe_of(options);
  GraphFileWriter writer(file, recipe.name, kProducer, recipe.samples_per_step);
  if (progress != nullptr) progress->stage_begins("generating", recipe.num_nodes);
  SumCheck sums;
  NodeRecord record;
  Block block;
  for (std::int64_t n = 0; n < recipe.num_nodes; ++n) {
    recipe.node(n, options.names, record);
    sums.add(record);
    block.add(record, options.names);
    if (!block.is_full() && n + 1 < recipe.num_nodes) continue;
    block.write_to(writer);
    if (progress != nullptr) progress->stage_reaches(n + 1);
  }
  writer.set_op_types(recipe.op_types);
  writer.finish();
  if (progress != nullptr) progress->stage_ends();
}

GraphData generate_in_memory(const GenerateOptions& options) {
  const GraphRecipe recipe = recipe_of(options);
  GraphData data;
  data.name = recipe.name;
  data.producer = kProducer;
  data.samples_per_step = recipe.samples_per_step;
  data.op_types = recipe.op_types;
  if (options.names) data.names.offsets.push_back(0);
  SumCheck sums;
  NodeRecord record;
  for (std::int64_t n = 0; n < recipe.num_nodes; ++n) {
    recipe.node(n, options.names, record);
    sums.add(record);
    data.comp.push_back(record.comp);
    data.mem.push_back(record.mem);
    data.temp.push_back(record.temp);
    data.kind.push_back(static_cast<std::int64_t>(record.kind));
    data.colocation.push_back(record.colocation);
    data.alias.push_back(record.alias);
    data.gradient_of.push_back(record.gradient_of);
    data.op.push_back(record.op);
    for (const auto& edge : record.successors) {
      data.indices.push_back(edge.node);
      data.bytes.push_back(edge.bytes);
    }
    data.indptr.push_back(data.num_edges());
    if (!options.names) continue;
    data.names.bytes.insert(data.names.bytes.end(), record.name.begin(), record.name.end());
    data.names.offsets.push_back(static_cast<std::int64_t>(data.names.bytes.size()));
  }
  return data;
}

}  // namespace pardnn
