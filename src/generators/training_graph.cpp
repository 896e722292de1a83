#include "generators/training_graph.hpp"

#include <algorithm>
#include <memory>
#include <utility>

namespace pardnn {
namespace {

/// Running numbers of a row: how many of each kind of node come before it.
struct Counts {
  std::int64_t parameters = 0, forward = 0, backward = 0;
};

Counts operator+(Counts a, Counts b) {
  return {a.parameters + b.parameters, a.forward + b.forward, a.backward + b.backward};
}
Counts operator*(std::int64_t n, Counts a) { return {n * a.parameters, n * a.forward, n * a.backward}; }

Counts counts_of(const Cell& cell) {
  return {static_cast<std::int64_t>(cell.parameters.size()), cell.num_forward, cell.num_backward()};
}

/// One row of cells: the same layer at all steps of all micro-batches.
struct Row {
  std::int64_t index = 0;
  const Cell* cell = nullptr;
  Counts before;
};

/// One copy of a row's cell.
struct Place {
  Row row;
  std::int64_t step = 0, micro_batch = 0;
};

/// Node numbers of a training step, both ways. Nothing is stored per row: a segment's rows are found by division.
class TrainingGraph {
 public:
  TrainingGraph(TrainingModel model, std::uint64_t seed);

  std::int64_t num_nodes() const { return updates_begin_ + total_.parameters; }
  const TrainingModel& model() const { return model_; }
  const std::vector<std::string>& op_types() const { return op_types_; }
  void describe(std::int64_t n, bool with_name, NodeRecord& record) const;

 private:
  struct Span {
    std::int64_t first_row;
    Counts before, pattern;
    std::vector<Counts> within;  ///< before the j-th row of the pattern
  };

  Row row_at(std::int64_t index) const;
  /// The row that holds the `position`-th of what `member` counts.
  Row row_holding(std::int64_t position, std::int64_t Counts::* member) const;
  Row row_in(const Span& span, std::size_t segment, std::int64_t repeat, std::size_t j) const;

  std::int64_t variable(std::int64_t parameter) const { return parameter * (1 + model_.optimizer_states); }
  std::int64_t update(std::int64_t parameter) const { return updates_begin_ + parameter; }
  std::int64_t node_number(const Place& place, int node) const;
  bool is_last_copy(const Place& place) const { return place.micro_batch == model_.micro_batches - 1 && place.step == 0; }

  void describe_parameter(std::int64_t n, bool with_name, NodeRecord& record) const;
  void describe_update(std::int64_t n, bool with_name, NodeRecord& record) const;
  void describe_cell_node(std::int64_t n, bool with_name, NodeRecord& record) const;
  void add_variable_readers(const Row& row, std::int64_t k, NodeRecord& record) const;
  void add_forward_readers(const Place& place, int node, NodeRecord& record) const;
  void add_gradient_readers(const Place& place, int node, NodeRecord& record) const;
  void add_parameter_gradient_readers(const Place& place, int node, NodeRecord& record) const;
  void add_readers(const Place& place, const std::vector<int>& readers, Bytes bytes, NodeRecord& record) const;

  TrainingModel model_;
  std::uint64_t seed_;
  std::vector<Span> spans_;
  Counts total_;
  std::int64_t num_rows_ = 0, cells_begin_ = 0, updates_begin_ = 0;
  std::vector<std::string> op_types_;
  std::vector<std::vector<std::int64_t>> node_ops_;  ///< [cell][node]
};

TrainingGraph::TrainingGraph(TrainingModel model, std::uint64_t seed) : model_(std::move(model)), seed_(seed) {
  for (const auto& segment : model_.segments) {
    Span span{num_rows_, total_, {}, {}};
    for (const int cell : segment.pattern) {
      span.within.push_back(span.pattern);
      span.pattern = span.pattern + counts_of(model_.cells[cell]);
    }
    total_ = total_ + segment.repeats * span.pattern;
    num_rows_ += segment.repeats * static_cast<std::int64_t>(segment.pattern.size());
    spans_.push_back(std::move(span));
  }
  cells_begin_ = variable(total_.parameters);
  updates_begin_ = cells_begin_ + model_.micro_batches * model_.steps * (total_.forward + total_.backward);

  op_types_ = {"variable", "optimizer_state", "apply_update"};
  for (const Cell& cell : model_.cells) {
    auto& ops = node_ops_.emplace_back();
    for (const Cell::Node& node : cell.nodes) {
      const auto known = std::find(op_types_.begin(), op_types_.end(), node.op);
      ops.push_back(known - op_types_.begin());
      if (known == op_types_.end()) op_types_.push_back(node.op);
    }
  }
}

Row TrainingGraph::row_in(const Span& span, std::size_t segment, std::int64_t repeat, std::size_t j) const {
  const auto& pattern = model_.segments[segment].pattern;
  return {span.first_row + repeat * static_cast<std::int64_t>(pattern.size()) + static_cast<std::int64_t>(j),
          &model_.cells[pattern[j]], span.before + repeat * span.pattern + span.within[j]};
}

Row TrainingGraph::row_at(std::int64_t index) const {
  std::size_t s = spans_.size() - 1;
  while (s > 0 && spans_[s].first_row > index) --s;
  const std::int64_t offset = index - spans_[s].first_row;
  const auto size = static_cast<std::int64_t>(model_.segments[s].pattern.size());
  return row_in(spans_[s], s, offset / size, static_cast<std::size_t>(offset % size));
}

// The last one with no more before it; one that holds none of them is never that.
Row TrainingGraph::row_holding(std::int64_t position, std::int64_t Counts::* member) const {
  std::size_t s = spans_.size() - 1;
  while (s > 0 && spans_[s].before.*member > position) --s;
  const Span& span = spans_[s];
  const std::int64_t offset = position - span.before.*member;
  const std::int64_t repeat = offset / (span.pattern.*member);
  const std::int64_t rest = offset % (span.pattern.*member);
  std::size_t j = span.within.size() - 1;
  while (span.within[j].*member > rest) --j;
  return row_in(span, s, repeat, j);
}

std::int64_t TrainingGraph::node_number(const Place& place, int node) const {
  const Cell& cell = *place.row.cell;
  const std::int64_t copy = place.micro_batch * model_.steps * (total_.forward + total_.backward);
  if (node < cell.num_forward) {
    return cells_begin_ + copy + place.step * total_.forward + place.row.before.forward + node;
  }
  const std::int64_t reversed_step = model_.steps - 1 - place.step;
  const std::int64_t reversed_row = total_.backward - place.row.before.backward - cell.num_backward();
  return cells_begin_ + copy + model_.steps * total_.forward + reversed_step * total_.backward + reversed_row + node -
         cell.num_forward;
}

void TrainingGraph::add_readers(const Place& place, const std::vector<int>& readers, Bytes bytes, NodeRecord& record) const {
  for (const int reader : readers) record.successors.push_back({node_number(place, reader), bytes});
}

void TrainingGraph::add_variable_readers(const Row& row, std::int64_t k, NodeRecord& record) const {
  for (std::int64_t m = 0; m < model_.micro_batches; ++m) {
    for (std::int64_t t = 0; t < model_.steps; ++t) {
      add_readers({row, t, m}, row.cell->parameter_readers[k], record.mem, record);
    }
  }
}

void TrainingGraph::describe_parameter(std::int64_t n, bool with_name, NodeRecord& record) const {
  const std::int64_t parameter = n / (1 + model_.optimizer_states), state = n % (1 + model_.optimizer_states);
  const Row row = row_holding(parameter, &Counts::parameters);
  const std::int64_t k = parameter - row.before.parameters;
  const Cell::Parameter& described = row.cell->parameters[k];
  record.kind = NodeKind::residual;
  record.mem = described.bytes;
  record.colocation = parameter;
  record.op = state == 0 ? 0 : 1;
  if (state == 0) add_variable_readers(row, k, record);
  record.successors.push_back({update(parameter), described.bytes});
  if (with_name) {
    record.name = row.cell->label + std::to_string(row.index) + "/" + described.name;
    if (state > 0) record.name += "/state" + std::to_string(state);
  }
}

void TrainingGraph::describe_update(std::int64_t n, bool with_name, NodeRecord& record) const {
  const std::int64_t parameter = n - updates_begin_;
  const Row row = row_holding(parameter, &Counts::parameters);
  const Cell::Parameter& described = row.cell->parameters[parameter - row.before.parameters];
  const Bytes moved = described.bytes * (3 + 2 * model_.optimizer_states);
  record.kind = NodeKind::reference;
  record.colocation = parameter;
  record.comp = jittered(kernel_time(0, moved), seed_, n);
  record.op = 2;
  if (with_name) record.name = row.cell->label + std::to_string(row.index) + "/" + described.name + "/update";
}

/// The next row at the same step reads output 0, the same row at the next step output q >= 1.
void TrainingGraph::add_forward_readers(const Place& place, int node, NodeRecord& record) const {
  const Cell& cell = *place.row.cell;
  const Bytes bytes = cell.nodes[node].bytes;
  for (std::size_t q = 0; q < cell.outputs.size(); ++q) {
    if (cell.outputs[q] != node) continue;
    if (q == 0) {
      const Row next = row_at(place.row.index + 1);
      add_readers({next, place.step, place.micro_batch}, next.cell->port_readers[0], bytes, record);
    } else if (place.step + 1 < model_.steps) {
      add_readers({place.row, place.step + 1, place.micro_batch}, cell.port_readers[q], bytes, record);
    }
  }
}

void TrainingGraph::add_gradient_readers(const Place& place, int node, NodeRecord& record) const {
  const Cell& cell = *place.row.cell;
  const Bytes bytes = cell.nodes[node].bytes;
  for (std::size_t p = 0; p < cell.port_gradients.size(); ++p) {
    if (cell.port_gradients[p] != node) continue;
    if (p == 0) {
      const Row below = row_at(place.row.index - 1);
      add_readers({below, place.step, place.micro_batch}, below.cell->gradient_readers[0], bytes, record);
    } else if (place.step > 0) {
      add_readers({place.row, place.step - 1, place.micro_batch}, cell.gradient_readers[p], bytes, record);
    }
  }
}

/// Sums run over the copies in the order in which their backward passes stand: steps backwards, then micro-batches.
void TrainingGraph::add_parameter_gradient_readers(const Place& place, int node, NodeRecord& record) const {
  const Cell& cell = *place.row.cell;
  for (std::size_t k = 0; k < cell.parameters.size(); ++k) {
    if (cell.parameters[k].gradient != node) continue;
    const std::int64_t parameter = place.row.before.parameters + static_cast<std::int64_t>(k);
    if (is_last_copy(place)) {
      record.gradient_of = variable(parameter);
      record.successors.push_back({update(parameter), cell.nodes[node].bytes});
    } else {
      const Place next = place.step > 0 ? Place{place.row, place.step - 1, place.micro_batch}
                                        : Place{place.row, model_.steps - 1, place.micro_batch + 1};
      add_readers(next, cell.previous_readers[k], cell.nodes[node].bytes, record);
    }
  }
}

void TrainingGraph::describe_cell_node(std::int64_t n, bool with_name, NodeRecord& record) const {
  const std::int64_t per_copy = model_.steps * (total_.forward + total_.backward);
  const std::int64_t in_copy = (n - cells_begin_) % per_copy;
  Place place;
  place.micro_batch = (n - cells_begin_) / per_copy;
  int node = 0;
  if (in_copy < model_.steps * total_.forward) {
    place.step = in_copy / total_.forward;
    const std::int64_t position = in_copy % total_.forward;
    place.row = row_holding(position, &Counts::forward);
    node = static_cast<int>(position - place.row.before.forward);
  } else {
    const std::int64_t in_backward = in_copy - model_.steps * total_.forward;
    place.step = model_.steps - 1 - in_backward / total_.backward;
    const std::int64_t position = total_.backward - 1 - in_backward % total_.backward;
    place.row = row_holding(position, &Counts::backward);
    const auto from_end = static_cast<int>(position - place.row.before.backward);
    node = static_cast<int>(place.row.cell->nodes.size()) - 1 - from_end;
  }

  const Cell& cell = *place.row.cell;
  const Cell::Node& described = cell.nodes[node];
  record.comp = jittered(described.time, seed_, n);
  record.mem = described.alias < 0 ? described.bytes : 0;
  record.temp = described.temp;
  if (described.alias >= 0) record.alias = node_number(place, described.alias);
  record.op = node_ops_[static_cast<std::size_t>(&cell - model_.cells.data())][node];
  add_readers(place, cell.inner_readers[node], described.bytes, record);
  if (node < cell.num_forward) {
    add_forward_readers(place, node, record);
  } else {
    add_gradient_readers(place, node, record);
    add_parameter_gradient_readers(place, node, record);
  }
  if (!with_name) return;
  if (model_.micro_batches > 1) record.name = "batch" + std::to_string(place.micro_batch) + "/";
  if (model_.steps > 1) record.name += "step" + std::to_string(place.step) + "/";
  record.name += cell.label + std::to_string(place.row.index) + "/" + described.name;
}

void TrainingGraph::describe(std::int64_t n, bool with_name, NodeRecord& record) const {
  record.comp = record.mem = record.temp = 0;
  record.kind = NodeKind::normal;
  record.colocation = record.alias = record.gradient_of = -1;
  record.name.clear();
  record.successors.clear();
  if (n < cells_begin_) {
    describe_parameter(n, with_name, record);
  } else if (n < updates_begin_) {
    describe_cell_node(n, with_name, record);
  } else {
    describe_update(n, with_name, record);
  }
  sort_successors(record);
}

}  // namespace

std::int64_t TrainingModel::num_nodes() const {
  Counts total;
  for (const Segment& segment : segments) {
    for (const int cell : segment.pattern) total = total + segment.repeats * counts_of(cells[cell]);
  }
  return total.parameters * (2 + optimizer_states) + micro_batches * steps * (total.forward + total.backward);
}

GraphRecipe training_recipe(TrainingModel model, std::uint64_t seed) {
  const auto graph = std::make_shared<const TrainingGraph>(std::move(model), seed);
  return {graph->model().name, graph->model().samples_per_step, graph->num_nodes(), graph->op_types(),
          [graph](std::int64_t n, bool with_name, NodeRecord& record) { graph->describe(n, with_name, record); }};
}

}  // namespace pardnn
