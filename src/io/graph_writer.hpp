/// Writes a graph file (graph-format.md) piece by piece, in bounded memory: for graphs larger than one wants to hold.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "pardnn/graph.hpp"

namespace pardnn {

/// A run of consecutive nodes, one array per dataset. `comp` and `mem` are required and give the run's length n;
/// every other array is either empty (the format's default: 0, or -1 for colocation, alias, fixed, gradient_of)
/// or of length n. A dataset that gets only defaults is not written at all.
struct NodeBlock {
  std::span<const std::int64_t> comp, mem, temp, kind, colocation, alias, fixed, gradient_of, op;
  /// Packed names of the n nodes: the j-th is name_bytes[name_ends[j-1], name_ends[j]). Either every block has names or none.
  std::span<const std::int64_t> name_ends;
  std::string_view name_bytes;
};

/// The out-edges of the next consecutive rows. `degrees[j]` edges belong to the j-th of them; `targets` are file node ids.
struct EdgeBlock {
  std::span<const std::int64_t> degrees;
  std::span<const std::int64_t> targets, bytes;
  /// Empty, or one per edge; either every block with edges has it or none.
  std::span<const std::int64_t> outputs;
};

/// Append nodes and rows in any interleaving, each in file order, then finish(). The file appears under its name only
/// with finish(), whole and synced; a writer that is destroyed before it leaves nothing behind.
/// Memory: a few MiB per dataset, whatever V and E. Arrays are stored in the smallest integer type that fits (grown on
/// the way where a later value needs more), chunked, shuffled and deflated.
/// What is written is not checked against the rules of the format except where noted; read it back, or validate it.
class GraphFileWriter {
 public:
  /// Throws SystemError if the temporary file cannot be made.
  GraphFileWriter(const std::string& file, const std::string& name, const std::string& producer,
                  std::int64_t samples_per_step = 1);
  ~GraphFileWriter();
  GraphFileWriter(const GraphFileWriter&) = delete;
  GraphFileWriter& operator=(const GraphFileWriter&) = delete;

  /// Throws std::invalid_argument if lengths differ, SystemError if the disk fails.
  void append_nodes(const NodeBlock& block);
  /// Throws std::invalid_argument if lengths differ, SystemError if the disk fails.
  void append_edges(const EdgeBlock& block);
  /// Names of the operation types that `NodeBlock::op` indexes; before finish().
  void set_op_types(std::vector<std::string> op_types);

  std::int64_t num_nodes() const;
  std::int64_t num_edges() const;

  /// Closes, syncs and renames. Throws std::invalid_argument if rows and nodes differ in number, SystemError.
  void finish();

 private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace pardnn
