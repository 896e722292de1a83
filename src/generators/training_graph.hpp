/// A model as repeated cells -> the graph of one training step, numbered arithmetically.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "generators/cell.hpp"
#include "generators/recipe.hpp"

namespace pardnn {

/// Rows of cells from the input to the loss. Row r feeds row r + 1; with several time steps it also feeds itself one step later.
struct TrainingModel {
  struct Segment {
    std::vector<int> pattern;  ///< cells of consecutive rows
    std::int64_t repeats = 1;
  };
  std::string name;
  std::vector<Cell> cells;
  std::vector<Segment> segments;
  std::int64_t steps = 1;          ///< time steps: copies that share parameters and follow one another
  std::int64_t micro_batches = 1;  ///< independent copies that share parameters
  int optimizer_states = 1;        ///< residuals beside each parameter: 1 momentum, 2 Adam
  std::int64_t samples_per_step = 1;

  /// O(segments).
  std::int64_t num_nodes() const;
};

/// File order: variables with their optimizer state; for each micro-batch the forward cells of all steps, then the backward
/// cells in reverse; updates. A topological order.
GraphRecipe training_recipe(TrainingModel model, std::uint64_t seed);

}  // namespace pardnn
