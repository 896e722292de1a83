/// A word-level language model of stacked LSTM layers, unrolled over time, trained by Adam.
#include "generators/recipe.hpp"
#include "generators/sizing.hpp"
#include "generators/training_graph.hpp"

namespace pardnn {
namespace {

struct Shape {
  std::int64_t batch, width, vocabulary;
  std::int64_t elements() const { return batch * width; }
};

Cell embedding(const Shape& shape, bool accumulates) {
  CellBuilder cell("embedding");
  const std::int64_t elements = shape.elements();
  const CellValue words = cell.source("words", shape.batch);
  const int table = cell.parameter("words/table", shape.vocabulary * shape.width * 4);
  const CellValue looked_up =
      cell.operation({"embedding", Gradient::lookup, {words}, kernel_time(0, 8 * elements), elements * 4, 0, table});
  return cell.finish({cell.unary("dropout", Gradient::by_output, looked_up, elements)}, accumulates);
}

/// Ports: the layer below, and hidden and cell state of the step before.
Cell lstm_cell(const Shape& shape, bool accumulates) {
  CellBuilder cell("lstm");
  const std::int64_t elements = shape.elements(), gates = 4 * elements, weights = 4 * shape.width * shape.width;
  const CellValue below = cell.port(elements * 4), hidden = cell.port(elements * 4), state = cell.port(elements * 4);
  const CellValue from_below = cell.weighted("input_product", below, weights, 2 * gates * shape.width, gates);
  const CellValue from_hidden = cell.weighted("hidden_product", hidden, weights, 2 * gates * shape.width, gates);
  const CellValue joined = cell.sum("gates", {from_below, from_hidden}, gates);
  const CellValue biased = cell.bias("bias", joined, 4 * shape.width, gates);
  const auto gate = [&](const std::string& name) {
    return cell.unary(name, Gradient::by_output, cell.view(name + "_slice", biased, elements), elements);
  };
  const CellValue in = gate("input_gate"), forget = gate("forget_gate"), candidate = gate("candidate"), out = gate("output_gate");
  const CellValue kept = cell.times("keep", forget, state, elements);
  const CellValue added = cell.times("write", in, candidate, elements);
  const CellValue next_state = cell.sum("state", {kept, added}, elements);
  const CellValue squashed = cell.unary("squash", Gradient::by_output, next_state, elements);
  const CellValue next_hidden = cell.times("hidden", out, squashed, elements);
  return cell.finish({next_hidden, next_hidden, next_state}, accumulates);
}

Cell head(const Shape& shape, bool accumulates) {
  CellBuilder cell("head");
  const std::int64_t logits = shape.batch * shape.vocabulary;
  const CellValue input = cell.port(shape.elements() * 4);
  const CellValue scores = cell.weighted("logits", input, shape.vocabulary * shape.width, 2 * logits * shape.width, logits);
  const CellValue labels = cell.source("labels", shape.batch);
  cell.operation({"softmax_loss", Gradient::loss, {scores, labels}, kernel_time(8 * logits, logits * 8), logits * 4});
  return cell.finish({}, accumulates);
}

TrainingModel lstm_model(const Shape& shape, Extent extent, std::int64_t micro_batches) {
  const bool accumulates = extent.copies * micro_batches > 1;
  TrainingModel model;
  model.name = "lstm-" + std::to_string(extent.layers) + "x" + std::to_string(shape.width) + "-s" + std::to_string(extent.copies);
  model.cells = {embedding(shape, accumulates), lstm_cell(shape, accumulates), head(shape, accumulates)};
  model.segments = {{{0}, 1}, {{1}, extent.layers}, {{2}, 1}};
  model.steps = extent.copies;
  model.micro_batches = micro_batches;
  model.optimizer_states = 2;
  model.samples_per_step = shape.batch * micro_batches;
  return model;
}

}  // namespace

GraphRecipe lstm_recipe(const GenerateOptions& options) {
  const Shape shape{chosen(options.batch, 64, 1 << 16, "--batch"), chosen(options.width, 1024, 1 << 16, "--width"), 10'000};
  const std::int64_t micro_batches = chosen(options.micro_batches, 1, 1 << 20, "--micro-batches");
  const auto count = [&](Extent e) { return lstm_model(shape, e, micro_batches).num_nodes(); };
  // An unrolled model is long and shallow, about fifty steps for a layer: steps take the part of layers here.
  const Extent turned = nearest_extent(options.nodes, {options.steps, options.layers}, 50,
                                       [&](Extent e) { return count({e.copies, e.layers}); });
  return training_recipe(lstm_model(shape, {turned.copies, turned.layers}, micro_batches), options.seed);
}

}  // namespace pardnn
