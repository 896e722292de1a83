/// A layered random DAG with its mirrored backward pass. Links are bijections between layers, some of them switched off
/// by a random bit, so that successors and predecessors are both found without storing an edge.
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "generators/recipe.hpp"
#include "generators/sizing.hpp"
#include "parallel/random.hpp"

namespace pardnn {
namespace {

/// Independent streams of random bits.
enum Stream : std::uint64_t { kLink = 1, kSlope, kOffset, kTensor, kWork };

constexpr int kLinks = 3;
/// A link is on with this many chances in four; the first always, so that every node is reached and leads on.
constexpr std::uint64_t kChances[kLinks] = {4, 2, 1};
constexpr std::int64_t kParameterEvery = 4;

/// i -> (slope i + offset) mod width, with slope and width coprime.
struct Bijection {
  std::int64_t slope, offset;
};

class RandomDag {
 public:
  RandomDag(std::uint64_t seed, Extent extent)
      : seed_(seed), layers_(extent.layers), width_(extent.copies), forward_(layers_ * width_),
        parameters_(layers_ * parameters_per_layer(width_)) {
    far_span_ = 2 + static_cast<std::int64_t>(random_below(bits(kLink, ~std::uint64_t{0}), 3));
  }

  static std::int64_t num_nodes(Extent extent) {
    return extent.layers * (2 * extent.copies + 4 * parameters_per_layer(extent.copies)) + 1;
  }
  void describe(std::int64_t n, bool with_name, NodeRecord& record) const;

 private:
  static std::int64_t parameters_per_layer(std::int64_t width) { return (width + kParameterEvery - 1) / kParameterEvery; }

  // Node numbers: variables and states, forward, loss, backward reversed, weight gradients reversed, updates.
  std::int64_t variable(std::int64_t p) const { return 2 * p; }
  std::int64_t forward(std::int64_t v) const { return 2 * parameters_ + v; }
  std::int64_t loss() const { return forward(forward_); }
  std::int64_t backward(std::int64_t v) const { return loss() + forward_ - v; }
  std::int64_t weight_gradient(std::int64_t p) const { return loss() + forward_ + parameters_ - p; }
  std::int64_t update(std::int64_t p) const { return loss() + forward_ + parameters_ + 1 + p; }

  std::uint64_t bits(Stream stream, std::uint64_t index) const { return random_bits(seed_, stream, index); }
  std::int64_t span(int link) const { return link == kLinks - 1 ? far_span_ : 1; }
  bool is_on(std::int64_t v, int link) const {
    return random_below(bits(kLink, static_cast<std::uint64_t>(v) * kLinks + static_cast<std::uint64_t>(link)), 4) < kChances[link];
  }
  Bijection bijection(std::int64_t layer, int link) const;
  bool has_parameter(std::int64_t v) const { return v % width_ % kParameterEvery == 0; }
  std::int64_t parameter(std::int64_t v) const { return v / width_ * parameters_per_layer(width_) + v % width_ / kParameterEvery; }
  std::int64_t owner(std::int64_t p) const {
    const std::int64_t each = parameters_per_layer(width_);
    return p / each * width_ + p % each * kParameterEvery;
  }
  Bytes tensor(std::int64_t v) const { return Bytes{65'536} << random_below(bits(kTensor, static_cast<std::uint64_t>(v)), 8); }
  Nanoseconds work(std::int64_t v) const {
    const Bytes bytes = tensor(v);
    return kernel_time(bytes << random_below(bits(kWork, static_cast<std::uint64_t>(v)), 12), 3 * bytes);
  }

  template <typename Visit>
  void for_each_successor(std::int64_t v, const Visit& visit) const;
  template <typename Visit>
  void for_each_predecessor(std::int64_t v, const Visit& visit) const;

  void describe_residual(std::int64_t n, NodeRecord& record) const;
  void describe_forward(std::int64_t v, NodeRecord& record) const;
  void describe_loss(NodeRecord& record) const;
  void describe_backward(std::int64_t v, NodeRecord& record) const;
  void describe_weight_gradient(std::int64_t p, NodeRecord& record) const;
  void describe_update(std::int64_t p, NodeRecord& record) const;

  std::uint64_t seed_;
  std::int64_t layers_, width_, forward_, parameters_, far_span_ = 2;
};

Bijection RandomDag::bijection(std::int64_t layer, int link) const {
  const auto index = static_cast<std::uint64_t>(layer) * kLinks + static_cast<std::uint64_t>(link);
  const auto width = static_cast<std::uint64_t>(width_);
  auto slope = static_cast<std::int64_t>(random_below(bits(kSlope, index), width));
  while (std::gcd(slope, width_) != 1) ++slope;
  return {slope % width_, static_cast<std::int64_t>(random_below(bits(kOffset, index), width))};
}

/// The y with a y = 1 modulo m, for coprime a and m (extended Euclid). O(log m).
std::int64_t inverse_modulo(std::int64_t a, std::int64_t m) {
  std::int64_t r = m, next_r = a % m, t = 0, next_t = 1;
  while (next_r != 0) {
    const std::int64_t quotient = r / next_r;
    r = std::exchange(next_r, r - quotient * next_r);
    t = std::exchange(next_t, t - quotient * next_t);
  }
  return ((t % m) + m) % m;
}

template <typename Visit>
void RandomDag::for_each_successor(std::int64_t v, const Visit& visit) const {
  const std::int64_t layer = v / width_, i = v % width_;
  for (int link = 0; link < kLinks; ++link) {
    const std::int64_t to = layer + span(link);
    if (to >= layers_ || !is_on(v, link)) continue;
    const Bijection map = bijection(layer, link);
    visit(to * width_ + (map.slope * i + map.offset) % width_);
  }
}

template <typename Visit>
void RandomDag::for_each_predecessor(std::int64_t v, const Visit& visit) const {
  const std::int64_t layer = v / width_, i = v % width_;
  for (int link = 0; link < kLinks; ++link) {
    const std::int64_t from = layer - span(link);
    if (from < 0) continue;
    const Bijection map = bijection(from, link);
    const std::int64_t shifted = (i - map.offset + width_) % width_;
    const std::int64_t u = from * width_ + shifted * inverse_modulo(map.slope, width_) % width_;
    if (is_on(u, link)) visit(u);
  }
}

void RandomDag::describe_residual(std::int64_t n, NodeRecord& record) const {
  const std::int64_t p = n / 2, v = owner(p);
  record.kind = NodeKind::residual;
  record.mem = tensor(v);
  record.colocation = p;
  record.op = n % 2;
  if (n % 2 == 0) record.successors = {{forward(v), record.mem}, {backward(v), record.mem}};
  record.successors.push_back({update(p), record.mem});
}

/// Read by the operations of later layers, by their backward operations and by their weight gradients.
void RandomDag::describe_forward(std::int64_t v, NodeRecord& record) const {
  const Bytes bytes = tensor(v);
  record.comp = work(v);
  record.mem = bytes;
  record.op = 2;
  for_each_successor(v, [&](std::int64_t w) {
    record.successors.push_back({forward(w), bytes});
    record.successors.push_back({backward(w), bytes});
    if (has_parameter(w)) record.successors.push_back({weight_gradient(parameter(w)), bytes});
  });
  if (v / width_ == layers_ - 1) record.successors.push_back({loss(), bytes});
}

void RandomDag::describe_loss(NodeRecord& record) const {
  record.comp = kernel_time(0, width_ * 65'536);
  record.mem = 65'536;
  record.op = 3;
  for (std::int64_t i = 0; i < width_; ++i) record.successors.push_back({backward(forward_ - 1 - i), record.mem});
}

void RandomDag::describe_backward(std::int64_t v, NodeRecord& record) const {
  const Bytes bytes = tensor(v);
  record.comp = 2 * work(v);
  record.mem = bytes;
  record.op = 4;
  for_each_predecessor(v, [&](std::int64_t u) { record.successors.push_back({backward(u), bytes}); });
  if (has_parameter(v)) record.successors.push_back({weight_gradient(parameter(v)), bytes});
}

void RandomDag::describe_weight_gradient(std::int64_t p, NodeRecord& record) const {
  record.comp = work(owner(p));
  record.mem = tensor(owner(p));
  record.gradient_of = variable(p);
  record.op = 5;
  record.successors = {{update(p), record.mem}};
}

void RandomDag::describe_update(std::int64_t p, NodeRecord& record) const {
  record.kind = NodeKind::reference;
  record.colocation = p;
  record.comp = kernel_time(0, 5 * tensor(owner(p)));
  record.op = 6;
}

void RandomDag::describe(std::int64_t n, bool with_name, NodeRecord& record) const {
  record.comp = record.mem = record.temp = 0;
  record.kind = NodeKind::normal;
  record.colocation = record.alias = record.gradient_of = -1;
  record.successors.clear();
  const auto name = [&](const char* what, std::int64_t index) {
    if (with_name) record.name = what + std::to_string(index);
  };
  if (n < forward(0)) {
    describe_residual(n, record);
    name(n % 2 == 0 ? "variable" : "state", n / 2);
  } else if (n < loss()) {
    describe_forward(n - forward(0), record);
    name("op", n - forward(0));
  } else if (n == loss()) {
    describe_loss(record);
    if (with_name) record.name = "loss";
  } else if (n <= backward(0)) {
    describe_backward(backward(0) - n, record);
    name("grad/op", backward(0) - n);
  } else if (n <= weight_gradient(0)) {
    describe_weight_gradient(weight_gradient(0) - n, record);
    name("grad/variable", weight_gradient(0) - n);
  } else {
    describe_update(n - update(0), record);
    name("update", n - update(0));
  }
  record.comp = jittered(record.comp, seed_, n);
  sort_successors(record);
}

}  // namespace

GraphRecipe random_dag_recipe(const GenerateOptions& options) {
  const Extent extent = nearest_extent(options.nodes, {options.layers, options.width}, 4, RandomDag::num_nodes);
  const auto graph = std::make_shared<const RandomDag>(options.seed, extent);
  return {"random-" + std::to_string(extent.layers) + "x" + std::to_string(extent.copies) + "-seed" + std::to_string(options.seed), 1,
          RandomDag::num_nodes(extent),
          {"variable", "optimizer_state", "op", "loss", "op_grad", "weight_grad", "apply_update"},
          [graph](std::int64_t n, bool with_name, NodeRecord& record) { graph->describe(n, with_name, record); }};
}

}  // namespace pardnn
