/// Modules of parallel convolution branches (after Szegedy et al.: Going Deeper with Convolutions, CVPR 2015), trained by momentum SGD.
#include "generators/recipe.hpp"
#include "generators/sizing.hpp"
#include "generators/training_graph.hpp"

namespace pardnn {
namespace {

constexpr std::int64_t kClasses = 1000;

struct Tensor {
  std::int64_t batch, side, channels;
  std::int64_t elements() const { return batch * side * side * channels; }
  Tensor with(std::int64_t other_channels) const { return {batch, side, other_channels}; }
};

/// Convolution, normalization, activation.
CellValue unit(CellBuilder& cell, const std::string& name, CellValue input, Tensor from, Tensor to, std::int64_t kernel) {
  const std::int64_t weights = kernel * kernel * from.channels * to.channels;
  const std::int64_t flops = 2 * kernel * kernel * from.channels * to.elements();
  const CellValue out = cell.weighted(name + "/conv", input, weights, flops, to.elements(), to.elements());
  const CellValue normed = cell.affine(name + "/batch_norm", out, 2 * to.channels, to.elements());
  return cell.unary(name + "/relu", Gradient::by_output, normed, to.elements());
}

CellValue pool(CellBuilder& cell, const std::string& name, CellValue input, Tensor from, Tensor to) {
  const std::int64_t moved = from.elements() + to.elements();
  return cell.operation({name, Gradient::by_input, {input}, kernel_time(9 * to.elements(), 4 * moved), to.elements() * 4});
}

CellValue concat(CellBuilder& cell, std::vector<CellValue> branches, Tensor to) {
  return cell.operation({"concat", Gradient::concat, std::move(branches), kernel_time(0, 8 * to.elements()), to.elements() * 4});
}

Cell stem(Tensor out, bool accumulates) {
  CellBuilder cell("stem");
  const Tensor image{out.batch, 2 * out.side, 3}, half = out.with(out.channels / 4);
  const CellValue pixels = cell.source("images", image.elements());
  const CellValue small = unit(cell, "first", pixels, image, half, 3);
  return cell.finish({unit(cell, "second", small, half, out, 3)}, accumulates);
}

/// Four branches: 1x1; 1x1 and 3x3; 1x1 and twice 3x3; pool and 1x1.
Cell module(Tensor shape, bool accumulates) {
  CellBuilder cell("module");
  const CellValue input = cell.port(shape.elements() * 4);
  const Tensor quarter = shape.with(shape.channels / 4), narrow = shape.with(shape.channels / 8);
  const CellValue point = unit(cell, "point", input, shape, quarter, 1);
  const CellValue single = unit(cell, "single2", unit(cell, "single1", input, shape, narrow, 1), narrow, quarter, 3);
  const CellValue reduced = unit(cell, "double2", unit(cell, "double1", input, shape, narrow, 1), narrow, narrow, 3);
  const CellValue twice = unit(cell, "double3", reduced, narrow, quarter, 3);
  const CellValue pooled = unit(cell, "pooled", pool(cell, "average_pool", input, shape, shape), shape, quarter, 1);
  return cell.finish({concat(cell, {point, single, twice, pooled}, shape)}, accumulates);
}

/// Half the side, twice the channels: a strided branch, a deeper strided branch, a pool.
Cell reduction(Tensor from, Tensor to, bool accumulates) {
  CellBuilder cell("reduction");
  const CellValue input = cell.port(from.elements() * 4);
  const Tensor quarter = to.with(to.channels / 4), narrow = from.with(from.channels / 4);
  const CellValue strided = unit(cell, "single", input, from, quarter, 3);
  const CellValue deeper = unit(cell, "double2", unit(cell, "double1", input, from, narrow, 1), narrow, quarter, 3);
  const CellValue pooled = pool(cell, "max_pool", input, from, to.with(to.channels / 2));
  return cell.finish({concat(cell, {strided, deeper, pooled}, to)}, accumulates);
}

Cell classifier(Tensor from, bool accumulates) {
  CellBuilder cell("classifier");
  const CellValue pooled = pool(cell, "average_pool", cell.port(from.elements() * 4), from, {from.batch, 1, from.channels});
  const std::int64_t logits = from.batch * kClasses;
  const CellValue dropped = cell.unary("dropout", Gradient::by_output, pooled, from.batch * from.channels);
  const CellValue scores = cell.weighted("logits", dropped, from.channels * kClasses, 2 * logits * from.channels, logits);
  const CellValue labels = cell.source("labels", from.batch);
  cell.operation({"softmax_loss", Gradient::loss, {scores, labels}, kernel_time(8 * logits, logits * 8), logits * 4});
  return cell.finish({}, accumulates);
}

TrainingModel inception_model(std::int64_t batch, std::int64_t width, Extent extent) {
  const bool accumulates = extent.copies > 1;
  TrainingModel model;
  model.name = "inception-" + std::to_string(extent.layers) + "x" + std::to_string(width) + "-mb" + std::to_string(extent.copies);
  Tensor shape{batch, 32, width};
  model.cells.push_back(stem(shape, accumulates));
  model.segments.push_back({{0}, 1});
  for (std::int64_t group = 0; group < 3; ++group) {
    if (group > 0) {
      const Tensor smaller{batch, shape.side / 2, 2 * shape.channels};
      model.segments.push_back({{static_cast<int>(model.cells.size())}, 1});
      model.cells.push_back(reduction(shape, smaller, accumulates));
      shape = smaller;
    }
    if (const std::int64_t repeats = (extent.layers + 2 - group) / 3; repeats > 0) {
      model.segments.push_back({{static_cast<int>(model.cells.size())}, repeats});
      model.cells.push_back(module(shape, accumulates));
    }
  }
  model.segments.push_back({{static_cast<int>(model.cells.size())}, 1});
  model.cells.push_back(classifier(shape, accumulates));
  model.micro_batches = extent.copies;
  model.samples_per_step = batch * extent.copies;
  return model;
}

}  // namespace

GraphRecipe inception_recipe(const GenerateOptions& options) {
  const std::int64_t batch = chosen(options.batch, 32, 1 << 12, "--batch"), width = chosen(options.width, 256, 1 << 13, "--width");
  const std::int64_t channels = (width + 7) / 8 * 8;  // branches take eighths
  const Extent extent = nearest_extent(options.nodes, {options.layers, options.micro_batches}, 100,
                                       [&](Extent e) { return inception_model(batch, channels, e).num_nodes(); });
  return training_recipe(inception_model(batch, channels, extent), options.seed);
}

}  // namespace pardnn
