/// Small graphs for tests: made by hand with a builder, or seeded at random with every feature of graph-format.md.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <unordered_map>
#include <vector>

#include "pardnn/graph.hpp"

namespace pardnn::test {

/// A tiny generator (splitmix64) whose numbers are the same with every compiler.
class TestRandom {
 public:
  explicit TestRandom(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 0x1234567) {}
  std::uint64_t next();
  /// Uniform enough in [0, bound); bound > 0.
  std::int64_t below(std::int64_t bound) { return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(bound)); }
  bool chance(int percent) { return below(100) < percent; }

 private:
  std::uint64_t state_;
};

/// Builds a graph by names: `GraphBuilder().node("A", 3).node("B", 2).edge("A", "B", 5).data()`. File ids in order of node().
class GraphBuilder {
 public:
  GraphBuilder& node(const std::string& name, Nanoseconds comp, Bytes mem = 0, Bytes temp = 0);
  GraphBuilder& edge(const std::string& from, const std::string& to, Bytes bytes);
  /// An edge that carries output `output` of `from`; edges without one carry output 0 then.
  GraphBuilder& edge(const std::string& from, const std::string& to, Bytes bytes, std::int64_t output);
  GraphBuilder& kind(const std::string& name, NodeKind kind);
  /// The nodes share one new colocation group.
  GraphBuilder& colocate(std::initializer_list<std::string> names);
  GraphBuilder& alias(const std::string& name, const std::string& of);
  GraphBuilder& pin(const std::string& name, DeviceId device);
  /// Unnamed nodes in the result.
  GraphBuilder& without_names();
  GraphData data() const;
  /// File id of a name.
  std::int64_t id(const std::string& name) const { return ids_.at(name); }

 private:
  struct Edge {
    std::int64_t from, to;
    Bytes bytes;
    std::int64_t output;
  };
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::int64_t> ids_;
  std::vector<std::int64_t> comp_, mem_, temp_, kind_, colocation_, alias_, fixed_;
  std::vector<Edge> edges_;
  std::int64_t groups_ = 0;
  bool outputs_ = false, keep_names_ = true;
};

/// Edges as (from, to, bytes) in any order -> indptr, indices, bytes of `data`; `output` may be empty.
void set_edges(GraphData& data, std::int64_t nodes, const std::vector<std::int64_t>& from, const std::vector<std::int64_t>& to,
               const std::vector<std::int64_t>& bytes, const std::vector<std::int64_t>& output = {});

/// 0 -> 1 -> ... -> n-1.
GraphData chain(std::int64_t nodes, Nanoseconds comp = 1, Bytes bytes = 1);
/// Node 0 -> each of `leaves` leaves.
GraphData star(std::int64_t leaves, Nanoseconds comp = 1, Bytes bytes = 1);
/// An edge from every node to every later one.
GraphData clique(std::int64_t nodes, Nanoseconds comp = 1, Bytes bytes = 0);

/// Chances are in percent, values uniform in [0, max].
struct RandomGraphOptions {
  std::int64_t nodes = 30;
  int max_in_degree = 3;
  /// Predecessors come from so many nodes before (in a hidden topological order): small is deep, large is wide. 0: any.
  std::int64_t window = 0;
  std::int64_t max_comp = 20, max_bytes = 20, max_mem = 20, max_temp = 5;
  int zero_comp = 10;      ///< nodes without compute time
  int control_edges = 15;  ///< edges of zero bytes
  int parallel_edges = 5;  ///< an edge is repeated (merged on reading)
  int colocated = 15;      ///< nodes in a colocation group
  int aliased = 10;        ///< nodes that are a view of an earlier node, mostly of a predecessor
  int residual = 15;
  int reference = 5;       ///< nodes tied to a residual by alias or colocation
  int pinned = 5;          ///< units pinned to a device
  DeviceId devices = 2;    ///< pins are below this
  bool outputs = false;    ///< /edges/output present
  bool names = false;
  /// Nothing but nodes and edges.
  static RandomGraphOptions plain(std::int64_t nodes, std::int64_t window = 0);
};

/// A legal random graph; the same for the same seed and options. With half of the seeds the file order is not topological.
GraphData random_graph_data(std::uint64_t seed, const RandomGraphOptions& options = {});

}  // namespace pardnn::test
