/// A graph to measure on, and everything that the kernels need around it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "construct/constructed.hpp"
#include "construct/list_options.hpp"
#include "costs/cost_model.hpp"
#include "levels/weighted_levels.hpp"
#include "mapping/level_index.hpp"
#include "pardnn/graph.hpp"
#include "pardnn/machine.hpp"
#include "slicing/clustering.hpp"

namespace pardnn::bench {

/// Where a graph comes from: a generator, or a file.
struct GraphSource {
  std::string shape;       ///< "deep", "wide", "transformer", or the stem of `file`
  std::int64_t nodes = 0;  ///< wanted size of a generated graph
  std::string file;        ///< empty: generated

  /// Generates or reads, names and operation types left out. Throws as generate_in_memory and read_graph_data do.
  GraphData load() const;
};

/// EIL with lazy sources: the start that wins most often, and the placement that is emulated here.
ListOptions eil_options();

/// Parts are made when they are first asked for, on 16 equal devices, and kept.
class Subject {
 public:
  explicit Subject(GraphSource source);
  ~Subject();
  Subject(const Subject&) = delete;
  Subject& operator=(const Subject&) = delete;

  const GraphSource& source() const { return source_; }
  const Graph& graph() const { return graph_; }
  /// Links free of contention, or one sending port per device; memory unlimited.
  const CostModel& costs(Links links) const { return links == Links::free ? free_costs_ : port_costs_; }
  /// Every device has nine tenths of what the fullest device of placement() needs: that one overflows.
  const CostModel& tight_costs();
  const WeightedLevels& levels();
  const LevelIndex& index();
  const Clustering& clustering();
  /// Made by eil_options() for free links.
  const Constructed& placement();
  /// The graph as an HDF5 file in a folder of its own, removed with the subject.
  const std::string& hdf5_file();

 private:
  GraphSource source_;
  Graph graph_;
  Machine free_machine_, port_machine_, tight_machine_;
  CostModel free_costs_, port_costs_;
  std::optional<CostModel> tight_costs_;
  std::optional<WeightedLevels> levels_;
  std::optional<LevelIndex> index_;
  std::optional<Clustering> clustering_;
  std::optional<Constructed> placement_;
  std::string folder_, hdf5_file_;
};

/// The subject of `source`; the one before it is dropped, so that one graph is held at a time.
Subject& subject(const GraphSource& source);

}  // namespace pardnn::bench
