/// A wide residual network (Zagoruyko, Komodakis: Wide Residual Networks, BMVC 2016) for small images, trained by momentum SGD.
#include "generators/recipe.hpp"
#include "generators/sizing.hpp"
#include "generators/training_graph.hpp"

namespace pardnn {
namespace {

constexpr std::int64_t kClasses = 100, kStemChannels = 16;

/// A square image batch.
struct Tensor {
  std::int64_t batch, side, channels;
  std::int64_t elements() const { return batch * side * side * channels; }
};

CellValue convolution(CellBuilder& cell, const std::string& name, CellValue input, Tensor from, Tensor to, std::int64_t kernel) {
  const std::int64_t weights = kernel * kernel * from.channels * to.channels;
  const std::int64_t flops = 2 * kernel * kernel * from.channels * to.elements();
  return cell.weighted(name, input, weights, flops, to.elements(), to.elements());
}

CellValue norm_relu(CellBuilder& cell, const std::string& number, CellValue input, Tensor shape) {
  const CellValue normed = cell.affine("batch_norm" + number, input, 2 * shape.channels, shape.elements());
  return cell.unary("relu" + number, Gradient::by_output, normed, shape.elements());
}

Cell stem(Tensor out, bool accumulates) {
  CellBuilder cell("stem");
  const Tensor image{out.batch, out.side, 3};
  const CellValue pixels = cell.source("images", image.elements());
  return cell.finish({convolution(cell, "conv", pixels, image, out, 3)}, accumulates);
}

/// Pre-activation block of two convolutions; where the shape changes, a third one on the short cut.
Cell residual_block(Tensor from, Tensor to, bool changes, bool accumulates) {
  CellBuilder cell(changes ? "widen" : "block");
  const CellValue input = cell.port(from.elements() * 4);
  const CellValue active = norm_relu(cell, "1", input, from);
  const CellValue first = convolution(cell, "conv1", active, from, to, 3);
  const CellValue second = convolution(cell, "conv2", norm_relu(cell, "2", first, to), to, to, 3);
  const CellValue short_cut = changes ? convolution(cell, "short_cut", active, from, to, 1) : input;
  return cell.finish({cell.sum("residual", {short_cut, second}, to.elements())}, accumulates);
}

Cell classifier(Tensor from, bool accumulates) {
  CellBuilder cell("classifier");
  const CellValue active = norm_relu(cell, "", cell.port(from.elements() * 4), from);
  const std::int64_t pooled_elements = from.batch * from.channels, logits = from.batch * kClasses;
  const CellValue pooled = cell.operation({"average_pool", Gradient::by_input, {active},
                                           kernel_time(from.elements(), 4 * (from.elements() + pooled_elements)), pooled_elements * 4});
  const CellValue scores = cell.weighted("logits", pooled, from.channels * kClasses, 2 * pooled_elements * kClasses, logits);
  const CellValue labels = cell.source("labels", from.batch);
  cell.operation({"softmax_loss", Gradient::loss, {scores, labels}, kernel_time(8 * logits, logits * 8), logits * 4});
  return cell.finish({}, accumulates);
}

TrainingModel wide_resnet_model(std::int64_t batch, std::int64_t width, Extent extent) {
  const bool accumulates = extent.copies > 1;
  TrainingModel model;
  model.name = "wrn-" + std::to_string(extent.layers) + "-k" + std::to_string(width) + "-mb" + std::to_string(extent.copies);
  Tensor shape{batch, 32, kStemChannels};
  model.cells.push_back(stem(shape, accumulates));
  model.segments.push_back({{0}, 1});
  for (std::int64_t group = 0; group < 3; ++group) {
    const Tensor wider{batch, std::int64_t{32} >> group, (kStemChannels * width) << group};
    const int cell = static_cast<int>(model.cells.size());
    model.cells.push_back(residual_block(shape, wider, true, accumulates));
    model.cells.push_back(residual_block(wider, wider, false, accumulates));
    model.segments.push_back({{cell}, 1});
    if (const std::int64_t repeats = (extent.layers + 2 - group) / 3; repeats > 0) model.segments.push_back({{cell + 1}, repeats});
    shape = wider;
  }
  model.cells.push_back(classifier(shape, accumulates));
  model.segments.push_back({{static_cast<int>(model.cells.size()) - 1}, 1});
  model.micro_batches = extent.copies;
  model.samples_per_step = batch * extent.copies;
  return model;
}

}  // namespace

GraphRecipe wide_resnet_recipe(const GenerateOptions& options) {
  const std::int64_t batch = chosen(options.batch, 64, 1 << 12, "--batch"), width = chosen(options.width, 10, 256, "--width");
  const Extent extent = nearest_extent(options.nodes, {options.layers, options.micro_batches}, 300,
                                       [&](Extent e) { return wide_resnet_model(batch, width, e).num_nodes(); });
  return training_recipe(wide_resnet_model(batch, width, extent), options.seed);
}

}  // namespace pardnn
