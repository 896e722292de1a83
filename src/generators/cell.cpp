#include "generators/cell.hpp"

#include <algorithm>
#include <stdexcept>

#include "generators/recipe.hpp"

namespace pardnn {

using From = Cell::From;
using Input = Cell::Input;

static constexpr Bytes kElement = 4;

static int port_index(CellValue value) { return -value - 1; }

CellValue CellBuilder::port(Bytes bytes) {
  ports_.push_back(bytes);
  return -static_cast<CellValue>(ports_.size());
}

int CellBuilder::parameter(std::string name, Bytes bytes) {
  cell_.parameters.push_back({std::move(name), bytes, -1});
  return static_cast<int>(cell_.parameters.size()) - 1;
}

CellValue CellBuilder::operation(CellOperation operation) {
  operations_.push_back(std::move(operation));
  return static_cast<CellValue>(operations_.size()) - 1;
}

CellValue CellBuilder::source(std::string name, std::int64_t elements) {
  const Bytes bytes = elements * kElement;
  return operation({std::move(name), Gradient::none, {}, kernel_time(0, bytes), bytes});
}

CellValue CellBuilder::unary(std::string name, Gradient gradient, CellValue input, std::int64_t elements) {
  const Bytes bytes = elements * kElement;
  return operation({std::move(name), gradient, {input}, kernel_time(elements, 2 * bytes), bytes});
}

CellValue CellBuilder::view(std::string name, CellValue input, std::int64_t elements) {
  return operation({std::move(name), Gradient::view, {input}, 0, elements * kElement});
}

CellValue CellBuilder::sum(std::string name, std::vector<CellValue> inputs, std::int64_t elements) {
  const Bytes bytes = elements * kElement;
  const auto moved = static_cast<Bytes>(inputs.size() + 1) * bytes;
  return operation({std::move(name), Gradient::pass, std::move(inputs), kernel_time(elements, moved), bytes});
}

CellValue CellBuilder::times(std::string name, CellValue a, CellValue b, std::int64_t elements) {
  const Bytes bytes = elements * kElement;
  return operation({std::move(name), Gradient::product, {a, b}, kernel_time(elements, 3 * bytes), bytes});
}

CellValue CellBuilder::weighted(std::string name, CellValue input, std::int64_t weights, std::int64_t flops,
                                std::int64_t elements, Bytes temp) {
  const Bytes bytes = elements * kElement;
  const int weight = parameter(name + "/weight", weights * kElement);
  const Nanoseconds time = kernel_time(flops, bytes_of(input) + weights * kElement + bytes);
  return operation({std::move(name), Gradient::weighted, {input}, time, bytes, temp, weight});
}

CellValue CellBuilder::affine(std::string name, CellValue input, std::int64_t weights, std::int64_t elements) {
  const Bytes bytes = elements * kElement;
  const int weight = parameter(name + "/weight", weights * kElement);
  return operation({std::move(name), Gradient::affine, {input}, kernel_time(4 * elements, 3 * bytes), bytes, 0, weight});
}

CellValue CellBuilder::bias(std::string name, CellValue input, std::int64_t weights, std::int64_t elements) {
  const Bytes bytes = elements * kElement;
  const int weight = parameter(name + "/weight", weights * kElement);
  return operation({std::move(name), Gradient::bias, {input}, kernel_time(elements, 2 * bytes), bytes, 0, weight});
}

Bytes CellBuilder::bytes_of(CellValue value) const {
  return value >= 0 ? operations_[value].bytes : ports_[port_index(value)];
}

bool CellBuilder::needs_gradient(CellValue value) const {
  return value < 0 || operations_[value].gradient != Gradient::none;
}

Input CellBuilder::forward_input(CellValue value) const {
  return value >= 0 ? Input{From::inner, value} : Input{From::port, port_index(value)};
}

std::vector<Input>& CellBuilder::contributions(CellValue value) {
  return value >= 0 ? operation_contributions_[value] : port_contributions_[port_index(value)];
}

int CellBuilder::add_backward(const CellOperation& of, const char* what, std::vector<Input> inputs, Nanoseconds time,
                              Bytes bytes) {
  cell_.nodes.push_back({of.name + "_grad", "grad/" + of.name + "/" + what, time, bytes, of.temp, -1, std::move(inputs)});
  return static_cast<int>(cell_.nodes.size()) - 1;
}

/// The whole gradient of `value`: its only contribution, or a new node that adds them up.
Input CellBuilder::gradient_of(CellValue value) {
  std::vector<Input>& parts = contributions(value);
  if (parts.empty()) throw std::logic_error("cell " + cell_.label + ": a value without a gradient");
  if (parts.size() == 1) return parts.front();
  const Bytes bytes = bytes_of(value);
  const std::string of = value >= 0 ? operations_[value].name : "port" + std::to_string(port_index(value));
  const auto moved = static_cast<Bytes>(parts.size() + 1) * bytes;
  cell_.nodes.push_back({"add_n", "grad/" + of + "/sum", kernel_time(bytes / kElement, moved), bytes, 0, -1, parts});
  return {From::inner, static_cast<int>(cell_.nodes.size()) - 1};
}

/// A node that computes the gradient of one input of `operation`, if anybody wants it.
void CellBuilder::send_to_input(const CellOperation& operation, std::size_t input, const char* what, std::vector<Input> reads) {
  const CellValue value = operation.inputs[input];
  if (!needs_gradient(value)) return;
  const bool heavy = operation.gradient == Gradient::weighted || operation.gradient == Gradient::product;
  const Bytes bytes = bytes_of(value);
  const Nanoseconds time = heavy ? operation.time : kernel_time(bytes / kElement, bytes + 2 * operation.bytes);
  contributions(value).push_back({From::inner, add_backward(operation, what, std::move(reads), time, bytes)});
}

void CellBuilder::differentiate_parameter(const CellOperation& operation, Input incoming) {
  const Bytes bytes = cell_.parameters[operation.parameter].bytes;
  const Nanoseconds time =
      operation.gradient == Gradient::weighted ? operation.time : kernel_time(operation.bytes / kElement, bytes + 2 * operation.bytes);
  std::vector<Input> reads{incoming};
  if (operation.gradient != Gradient::bias) reads.push_back(forward_input(operation.inputs[0]));
  const int node = add_backward(operation, "weight", std::move(reads), time, bytes);
  parameter_contributions_[operation.parameter].push_back({From::inner, node});
}

void CellBuilder::differentiate(const CellOperation& operation, int self) {
  if (operation.gradient == Gradient::none) return;
  if (operation.gradient == Gradient::loss) {
    send_to_input(operation, 0, "input", {{From::inner, self}});
    return;
  }
  const Input incoming = gradient_of(self);
  if (operation.parameter >= 0) differentiate_parameter(operation, incoming);
  const auto& inputs = operation.inputs;
  switch (operation.gradient) {
    case Gradient::pass:
    case Gradient::view:
    case Gradient::bias:
      for (const CellValue value : inputs) {
        if (needs_gradient(value)) contributions(value).push_back(incoming);
      }
      break;
    case Gradient::by_input:
      send_to_input(operation, 0, "input", {incoming, forward_input(inputs[0])});
      break;
    case Gradient::by_output:
      send_to_input(operation, 0, "input", {incoming, {From::inner, self}});
      break;
    case Gradient::product:
      send_to_input(operation, 0, "left", {incoming, forward_input(inputs[1])});
      send_to_input(operation, 1, "right", {incoming, forward_input(inputs[0])});
      break;
    case Gradient::weighted:
      send_to_input(operation, 0, "input", {incoming, {From::parameter, operation.parameter}});
      break;
    case Gradient::affine:
      send_to_input(operation, 0, "input", {incoming, forward_input(inputs[0]), {From::parameter, operation.parameter}});
      break;
    case Gradient::concat:
      for (std::size_t i = 0; i < inputs.size(); ++i) send_to_input(operation, i, ("slice" + std::to_string(i)).c_str(), {incoming});
      break;
    case Gradient::lookup:
    case Gradient::none:
    case Gradient::loss:
      break;
  }
}

void CellBuilder::collect_parameter_gradients(bool accumulates) {
  for (std::size_t k = 0; k < cell_.parameters.size(); ++k) {
    Cell::Parameter& parameter = cell_.parameters[k];
    std::vector<Input> parts = parameter_contributions_[k];
    if (parts.empty()) throw std::logic_error("cell " + cell_.label + ": parameter " + parameter.name + " is never read");
    parameter.gradient = parts.front().index;
    if (parts.size() == 1 && !accumulates) continue;
    if (accumulates) parts.push_back({From::previous, static_cast<int>(k)});
    const Nanoseconds time = kernel_time(parameter.bytes / kElement, 3 * parameter.bytes);
    cell_.nodes.push_back({"accumulate", "grad/" + parameter.name + "/sum", time, parameter.bytes, 0, -1, std::move(parts)});
    parameter.gradient = static_cast<int>(cell_.nodes.size()) - 1;
  }
}

void CellBuilder::find_readers() {
  cell_.inner_readers.resize(cell_.nodes.size());
  cell_.port_readers.resize(ports_.size());
  cell_.parameter_readers.resize(cell_.parameters.size());
  cell_.gradient_readers.resize(cell_.outputs.size());
  cell_.previous_readers.resize(cell_.parameters.size());
  for (int n = 0; n < static_cast<int>(cell_.nodes.size()); ++n) {
    for (const Input input : cell_.nodes[n].inputs) {
      auto& lists = input.from == From::inner       ? cell_.inner_readers
                    : input.from == From::port      ? cell_.port_readers
                    : input.from == From::parameter ? cell_.parameter_readers
                    : input.from == From::gradient  ? cell_.gradient_readers
                                                    : cell_.previous_readers;
      auto& readers = lists[input.index];
      if (readers.empty() || readers.back() != n) readers.push_back(n);
    }
  }
}

Cell CellBuilder::finish(std::vector<CellValue> outputs, bool accumulates) {
  for (const CellOperation& operation : operations_) {
    Cell::Node node{operation.name, operation.name, operation.time, operation.bytes, operation.temp, -1, {}};
    for (const CellValue value : operation.inputs) node.inputs.push_back(forward_input(value));
    if (operation.parameter >= 0) node.inputs.push_back({From::parameter, operation.parameter});
    if (operation.gradient == Gradient::view) node.alias = operation.inputs[0];
    cell_.nodes.push_back(std::move(node));
  }
  cell_.num_forward = static_cast<int>(operations_.size());
  cell_.outputs = std::move(outputs);
  operation_contributions_.resize(operations_.size());
  port_contributions_.resize(ports_.size());
  parameter_contributions_.resize(cell_.parameters.size());
  for (std::size_t q = 0; q < cell_.outputs.size(); ++q) {
    contributions(cell_.outputs[q]).push_back({From::gradient, static_cast<int>(q)});
  }
  for (int n = cell_.num_forward - 1; n >= 0; --n) differentiate(operations_[n], n);
  for (std::size_t p = 0; p < ports_.size(); ++p) {
    const Input gradient = gradient_of(-static_cast<CellValue>(p) - 1);
    if (gradient.from != From::inner) throw std::logic_error("cell " + cell_.label + ": a gradient passes through untouched");
    cell_.port_gradients.push_back(gradient.index);
  }
  collect_parameter_gradients(accumulates);
  find_readers();
  return std::move(cell_);
}

}  // namespace pardnn
