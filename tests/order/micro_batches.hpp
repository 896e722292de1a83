/// A training step of `layers` layers on `batches` micro-batches whose gradients are summed, the last micro-batch first.
///
/// Micro-batch j: in(j) -> f(j,0) -> f(j,1) -> ... -> b(j,layers-1) -> ... -> b(j,0), where b(j,l) also reads the activation of f(j,l) and the
/// weight of its layer; each activation takes 100 B and 10 ns, a gradient 10 B.
#pragma once

#include <string>

#include "support/random_graphs.hpp"

namespace pardnn::test {

inline GraphData micro_batches(int layers, int batches) {
  GraphBuilder builder;
  const auto name = [](std::string kind, int j, int l) { return kind.append(std::to_string(j)).append(".").append(std::to_string(l)); };
  for (int l = 0; l < layers; ++l) builder.node(name("w", 0, l), 0, 10).kind(name("w", 0, l), NodeKind::residual);
  for (int j = 0; j < batches; ++j) {
    builder.node(name("in", j, 0), 1, 1);
    for (int l = 0; l < layers; ++l) builder.node(name("f", j, l), 10, 100);
    for (int l = layers; l-- > 0;) builder.node(name("b", j, l), 20, 10).node(name("g", j, l), 2, 10);
  }
  for (int j = 0; j < batches; ++j) {
    builder.edge(name("in", j, 0), name("f", j, 0), 1);
    for (int l = 0; l < layers; ++l) {
      builder.edge(name("w", 0, l), name("f", j, l), 10).edge(name("w", 0, l), name("b", j, l), 10);
      builder.edge(name("f", j, l), name("b", j, l), 100);
      if (l + 1 < layers) builder.edge(name("f", j, l), name("f", j, l + 1), 100).edge(name("b", j, l + 1), name("b", j, l), 10);
      builder.edge(name("b", j, l), name("g", j, l), 10);
      if (j + 1 < batches) builder.edge(name("g", j + 1, l), name("g", j, l), 10);
    }
  }
  return builder.data();
}

}  // namespace pardnn::test
