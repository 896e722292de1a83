#include "graph/graph_block.hpp"

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace pardnn {

namespace {

constexpr std::size_t kAlignment = 64;

/// Gives out consecutive, aligned parts of a block.
class Cursor {
 public:
  explicit Cursor(std::size_t begin = 0) : at_(begin) {}
  /// Where a part of `bytes` bytes begins.
  std::size_t take(std::size_t bytes) {
    const std::size_t begin = at_;
    at_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return begin;
  }
  std::size_t end() const { return at_; }

 private:
  std::size_t at_;
};

}  // namespace

/// The block: a head, the lengths of the arrays, then the arrays, each on its own cache line.
struct GraphBlock {
  struct Head {
    NodeId num_nodes;
    EdgeId num_edges;
    UnitId num_units;
    Nanoseconds total_comp;
    Bytes total_bytes;
    std::int64_t samples_per_step;
    DeviceId greatest_fixed;
    std::int32_t num_groups;
    std::uint64_t name_length, fingerprint_length;
  };

  /// visit(span) for every array of a graph, in the order in which a block holds them.
  template <typename AnyGraph, typename Visit>
  static void for_each_array(AnyGraph& g, Visit visit) {
    visit(g.out_offsets_), visit(g.in_offsets_), visit(g.in_edges_), visit(g.targets_), visit(g.sources_), visit(g.root_);
    visit(g.depth_offsets_), visit(g.unit_members_), visit(g.iota_), visit(g.bytes_), visit(g.mem_), visit(g.temp_);
    visit(g.file_ids_), visit(g.unit_offsets_), visit(g.outputs_), visit(g.comp_), visit(g.kind_), visit(g.unit_);
    visit(g.unit_fixed_), visit(g.pins_), visit(g.group_);
  }

  static std::size_t size(const Graph& graph) {
    Cursor cursor;
    cursor.take(sizeof(Head));
    cursor.take(graph.name_.size());
    cursor.take(graph.fingerprint_.size());
    for_each_array(graph, [&](const auto& array) {
      cursor.take(sizeof(std::uint64_t));
      cursor.take(array.size_bytes());
    });
    return cursor.end();
  }

  static void write(const Graph& graph, std::span<std::byte> block) {
    Cursor cursor;
    const auto put = [&](const void* data, std::size_t bytes) {
      const std::size_t at = cursor.take(bytes);
      if (bytes > 0) std::memcpy(block.subspan(at, bytes).data(), data, bytes);
    };
    const Head head{graph.num_nodes_,        graph.num_edges_,      graph.num_units_,  graph.total_comp_,   graph.total_bytes_,
                    graph.samples_per_step_, graph.greatest_fixed_, graph.num_groups_, graph.name_.size(), graph.fingerprint_.size()};
    put(&head, sizeof head);
    put(graph.name_.data(), graph.name_.size());
    put(graph.fingerprint_.data(), graph.fingerprint_.size());
    for_each_array(graph, [&](const auto& array) {
      const std::uint64_t length = array.size();
      put(&length, sizeof length);
      put(array.data(), array.size_bytes());
    });
  }

  static Graph view(std::span<const std::byte> block) {
    Cursor cursor;
    const auto get = [&](void* data, std::size_t bytes) {
      const std::size_t at = cursor.take(bytes);
      if (bytes > 0) std::memcpy(data, block.subspan(at, bytes).data(), bytes);
    };
    Graph graph;
    Head head;
    get(&head, sizeof head);
    graph.num_nodes_ = head.num_nodes;
    graph.num_edges_ = head.num_edges;
    graph.num_units_ = head.num_units;
    graph.total_comp_ = head.total_comp;
    graph.total_bytes_ = head.total_bytes;
    graph.samples_per_step_ = head.samples_per_step;
    graph.greatest_fixed_ = head.greatest_fixed;
    graph.num_groups_ = head.num_groups;
    graph.name_.resize(head.name_length);
    get(graph.name_.data(), graph.name_.size());
    graph.fingerprint_.resize(head.fingerprint_length);
    get(graph.fingerprint_.data(), graph.fingerprint_.size());
    for_each_array(graph, [&](auto& array) {
      using Element = typename std::remove_reference_t<decltype(array)>::element_type;
      std::uint64_t length = 0;
      get(&length, sizeof length);
      const std::size_t at = cursor.take(length * sizeof(Element));
      array = {reinterpret_cast<Element*>(block.subspan(at, length * sizeof(Element)).data()), length};
    });
    return graph;
  }
};

std::size_t block_bytes(const Graph& graph) { return GraphBlock::size(graph); }

void write_block(const Graph& graph, std::span<std::byte> block) { GraphBlock::write(graph, block); }

Graph graph_of_block(std::span<const std::byte> block) { return GraphBlock::view(block); }

}  // namespace pardnn
