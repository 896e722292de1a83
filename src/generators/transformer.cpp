/// A GPT-like transformer: pre-norm blocks of self-attention and feed-forward, trained by Adam over micro-batches.
#include "generators/recipe.hpp"
#include "generators/sizing.hpp"
#include "generators/training_graph.hpp"

namespace pardnn {
namespace {

struct Shape {
  std::int64_t batch, sequence, width, heads, vocabulary;
  std::int64_t tokens() const { return batch * sequence; }
  std::int64_t elements() const { return tokens() * width; }
  std::int64_t scores() const { return batch * heads * sequence * sequence; }
};

Cell embedding(const Shape& shape, bool accumulates) {
  CellBuilder cell("embedding");
  const std::int64_t elements = shape.elements();
  const CellValue tokens = cell.source("tokens", shape.tokens());
  const int table = cell.parameter("tokens/table", shape.vocabulary * shape.width * 4);
  const CellValue looked_up =
      cell.operation({"embedding", Gradient::lookup, {tokens}, kernel_time(0, 8 * elements), elements * 4, 0, table});
  const CellValue placed = cell.bias("positions", looked_up, shape.sequence * shape.width, elements);
  return cell.finish({cell.unary("dropout", Gradient::by_output, placed, elements)}, accumulates);
}

CellValue attention(CellBuilder& cell, const Shape& shape, CellValue input) {
  const std::int64_t elements = shape.elements(), scores = shape.scores();
  const std::int64_t product = 2 * scores * (shape.width / shape.heads);
  const CellValue joined = cell.weighted("qkv", input, 3 * shape.width * shape.width, 6 * elements * shape.width, 3 * elements);
  const CellValue query = cell.view("query", joined, elements);
  const CellValue key = cell.view("key", joined, elements);
  const CellValue value = cell.view("value", joined, elements);
  const CellValue raw = cell.operation(
      {"scores", Gradient::product, {query, key}, kernel_time(product, 4 * (2 * elements + scores)), scores * 4});
  const CellValue weights = cell.unary("softmax", Gradient::by_output, raw, scores);
  const CellValue dropped = cell.unary("attention_dropout", Gradient::by_output, weights, scores);
  const CellValue context = cell.operation(
      {"context", Gradient::product, {dropped, value}, kernel_time(product, 4 * (2 * elements + scores)), elements * 4});
  return cell.weighted("projection", context, shape.width * shape.width, 2 * elements * shape.width, elements);
}

CellValue feed_forward(CellBuilder& cell, const Shape& shape, CellValue input) {
  const std::int64_t elements = shape.elements(), weights = 4 * shape.width * shape.width;
  const CellValue wide = cell.weighted("expand", input, weights, 8 * elements * shape.width, 4 * elements);
  const CellValue active = cell.unary("gelu", Gradient::by_input, wide, 4 * elements);
  return cell.weighted("contract", active, weights, 8 * elements * shape.width, elements);
}

Cell block(const Shape& shape, bool accumulates) {
  CellBuilder cell("block");
  const std::int64_t elements = shape.elements();
  const CellValue input = cell.port(elements * 4);
  const CellValue first = cell.affine("attention_norm", input, 2 * shape.width, elements);
  const CellValue attended = cell.unary("dropout1", Gradient::by_output, attention(cell, shape, first), elements);
  const CellValue middle = cell.sum("residual1", {input, attended}, elements);
  const CellValue second = cell.affine("mlp_norm", middle, 2 * shape.width, elements);
  const CellValue fed = cell.unary("dropout2", Gradient::by_output, feed_forward(cell, shape, second), elements);
  return cell.finish({cell.sum("residual2", {middle, fed}, elements)}, accumulates);
}

Cell head(const Shape& shape, bool accumulates) {
  CellBuilder cell("head");
  const std::int64_t elements = shape.elements(), logits = shape.tokens() * shape.vocabulary;
  const CellValue normed = cell.affine("final_norm", cell.port(elements * 4), 2 * shape.width, elements);
  const CellValue scores = cell.weighted("logits", normed, shape.vocabulary * shape.width, 2 * logits * shape.width, logits);
  const CellValue labels = cell.source("labels", shape.tokens());
  cell.operation({"softmax_loss", Gradient::loss, {scores, labels}, kernel_time(8 * logits, logits * 8), logits * 4});
  return cell.finish({}, accumulates);
}

TrainingModel transformer_model(const Shape& shape, Extent extent) {
  const bool accumulates = extent.copies > 1;
  TrainingModel model;
  model.name = "transformer-" + std::to_string(extent.layers) + "x" + std::to_string(shape.width) + "-mb" + std::to_string(extent.copies);
  model.cells = {embedding(shape, accumulates), block(shape, accumulates), head(shape, accumulates)};
  model.segments = {{{0}, 1}, {{1}, extent.layers}, {{2}, 1}};
  model.micro_batches = extent.copies;
  model.optimizer_states = 2;
  model.samples_per_step = shape.batch * extent.copies;
  return model;
}

}  // namespace

GraphRecipe transformer_recipe(const GenerateOptions& options) {
  const std::int64_t width = chosen(options.width, 1024, 1 << 15, "--width");
  const Shape shape{chosen(options.batch, 2, 1 << 10, "--batch"), 512, width, width >= 64 ? width / 64 : 1, 32'000};
  const Extent extent = nearest_extent(options.nodes, {options.layers, options.micro_batches}, 4,
                                       [&](Extent e) { return transformer_model(shape, e).num_nodes(); });
  return training_recipe(transformer_model(shape, extent), options.seed);
}

}  // namespace pardnn
