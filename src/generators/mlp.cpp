/// Fully connected layers with ReLU and a softmax classifier, trained by momentum SGD.
#include "generators/recipe.hpp"
#include "generators/sizing.hpp"
#include "generators/training_graph.hpp"

namespace pardnn {
namespace {

struct Shape {
  std::int64_t batch, width, classes;
};

/// `first`: the layer that reads the batch instead of another layer.
Cell dense_layer(const Shape& shape, bool first, bool accumulates) {
  CellBuilder cell(first ? "input" : "dense");
  const std::int64_t elements = shape.batch * shape.width;
  const CellValue input = first ? cell.source("batch", elements) : cell.port(elements * 4);
  const CellValue product = cell.weighted("matmul", input, shape.width * shape.width, 2 * elements * shape.width, elements);
  const CellValue biased = cell.bias("bias", product, shape.width, elements);
  return cell.finish({cell.unary("relu", Gradient::by_output, biased, elements)}, accumulates);
}

Cell classifier(const Shape& shape, bool accumulates) {
  CellBuilder cell("classifier");
  const CellValue input = cell.port(shape.batch * shape.width * 4);
  const std::int64_t logits = shape.batch * shape.classes;
  const CellValue scores = cell.weighted("logits", input, shape.width * shape.classes, 2 * logits * shape.width, logits);
  const CellValue labels = cell.source("labels", shape.batch);
  cell.operation({"softmax_loss", Gradient::loss, {scores, labels}, kernel_time(8 * logits, logits * 8), logits * 4});
  return cell.finish({}, accumulates);
}

TrainingModel mlp_model(const Shape& shape, Extent extent) {
  const bool accumulates = extent.copies > 1;
  TrainingModel model;
  model.name = "mlp-" + std::to_string(extent.layers) + "x" + std::to_string(shape.width);
  model.cells = {dense_layer(shape, true, accumulates), dense_layer(shape, false, accumulates), classifier(shape, accumulates)};
  model.segments = {{{0}, 1}, {{1}, extent.layers}, {{2}, 1}};
  model.micro_batches = extent.copies;
  model.samples_per_step = shape.batch * extent.copies;
  return model;
}

}  // namespace

GraphRecipe mlp_recipe(const GenerateOptions& options) {
  const Shape shape{chosen(options.batch, 256, 1 << 16, "--batch"), chosen(options.width, 2048, 1 << 17, "--width"), 1000};
  const Extent extent = nearest_extent(options.nodes, {options.layers, options.micro_batches}, 1000,
                                       [&](Extent e) { return mlp_model(shape, e).num_nodes(); });
  return training_recipe(mlp_model(shape, extent), options.seed);
}

}  // namespace pardnn
