/// One cell of a model (a layer, a block, a time step of a layer): its operations, and the backward pass they imply.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "pardnn/units.hpp"

namespace pardnn {

/// A value inside a cell: an operation (>= 0) or a port (< 0).
using CellValue = int;

/// Which backward operations a forward operation needs. X: its first input, Y: its output, W: its parameter.
enum class Gradient {
  none,       ///< a source of data: nothing flows back
  pass,       ///< sums: the gradient of each input is that of Y
  view,       ///< Y is a view of X, an operation of the same cell
  by_input,   ///< one operation that reads X
  by_output,  ///< one operation that reads Y
  product,    ///< one operation for each of two inputs, which reads the other
  weighted,   ///< matrix product, convolution: dX reads W, dW reads X
  affine,     ///< normalization: dX reads X and W, dW reads X
  bias,       ///< dX is the gradient of Y itself, dW sums it
  lookup,     ///< table look-up: dW alone, reads X
  concat,     ///< one slice for each input
  loss,       ///< the end of the forward pass: dX reads Y
};

struct CellOperation {
  std::string name;
  Gradient gradient = Gradient::none;
  std::vector<CellValue> inputs;
  Nanoseconds time = 0;
  Bytes bytes = 0;  ///< of the output
  Bytes temp = 0;
  int parameter = -1;
};

/// A cell with its backward pass, ready to be repeated. Nodes: the forward operations, then the backward ones in the order in which they run.
struct Cell {
  enum class From {
    inner,      ///< node `index` of the same cell
    port,       ///< forward value that arrives at port `index`
    parameter,  ///< variable of parameter `index`
    gradient,   ///< gradient that the reader of output `index` sends back
    previous,   ///< sum of the gradients of parameter `index` over earlier copies of the cell
  };
  struct Input {
    From from;
    int index;
  };
  struct Node {
    std::string op;    ///< operation type
    std::string name;  ///< unique in the cell
    Nanoseconds time = 0;
    Bytes bytes = 0, temp = 0;
    int alias = -1;  ///< node of this cell
    std::vector<Input> inputs;
  };
  struct Parameter {
    std::string name;
    Bytes bytes = 0;
    int gradient = -1;  ///< node that gives its gradient, or the sum so far
  };

  std::string label;
  std::vector<Node> nodes;
  int num_forward = 0;
  int num_backward() const { return static_cast<int>(nodes.size()) - num_forward; }
  std::vector<Parameter> parameters;
  /// Output q is read by the next cell's port 0 (q = 0) or by port q of the next time step's cell (q >= 1): forward nodes.
  std::vector<int> outputs;
  /// Node that gives the gradient of what arrives at port p.
  std::vector<int> port_gradients;

  // Who reads what, as nodes of this cell, increasing.
  std::vector<std::vector<int>> inner_readers, port_readers, parameter_readers, gradient_readers, previous_readers;
};

/// Collects the forward operations of a cell; finish() adds the backward pass by reverse-mode differentiation.
class CellBuilder {
 public:
  explicit CellBuilder(std::string label) { cell_.label = std::move(label); }

  /// Port 0 first (the cell below), then one for each state of the previous time step.
  CellValue port(Bytes bytes);
  int parameter(std::string name, Bytes bytes);
  CellValue operation(CellOperation operation);

  // Shorthands; `elements` are of 4 bytes.
  CellValue source(std::string name, std::int64_t elements);
  /// Reads and writes each element once: activation functions, dropout, softmax.
  CellValue unary(std::string name, Gradient gradient, CellValue input, std::int64_t elements);
  CellValue view(std::string name, CellValue input, std::int64_t elements);
  CellValue sum(std::string name, std::vector<CellValue> inputs, std::int64_t elements);
  /// Elementwise product of two values.
  CellValue times(std::string name, CellValue a, CellValue b, std::int64_t elements);
  /// A parameter of `weights` elements; `flops` of the forward operation.
  CellValue weighted(std::string name, CellValue input, std::int64_t weights, std::int64_t flops, std::int64_t elements,
                     Bytes temp = 0);
  CellValue affine(std::string name, CellValue input, std::int64_t weights, std::int64_t elements);
  CellValue bias(std::string name, CellValue input, std::int64_t weights, std::int64_t elements);

  /// `outputs`: see Cell::outputs; empty for the last cell. `accumulates`: gradients are summed over the copies of the cell.
  Cell finish(std::vector<CellValue> outputs, bool accumulates);

 private:
  int add_backward(const CellOperation& of, const char* what, std::vector<Cell::Input> inputs, Nanoseconds time, Bytes bytes);
  Cell::Input gradient_of(CellValue value);
  Cell::Input forward_input(CellValue value) const;
  std::vector<Cell::Input>& contributions(CellValue value);
  Bytes bytes_of(CellValue value) const;
  bool needs_gradient(CellValue value) const;
  void differentiate(const CellOperation& operation, int self);
  void differentiate_parameter(const CellOperation& operation, Cell::Input incoming);
  void send_to_input(const CellOperation& operation, std::size_t input, const char* what, std::vector<Cell::Input> reads);
  void collect_parameter_gradients(bool accumulates);
  void find_readers();

  Cell cell_;
  std::vector<CellOperation> operations_;
  std::vector<Bytes> ports_;
  std::vector<std::vector<Cell::Input>> operation_contributions_, port_contributions_, parameter_contributions_;
};

}  // namespace pardnn
