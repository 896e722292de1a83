#include "support/random_graphs.hpp"

#include <algorithm>
#include <numeric>

namespace pardnn::test {

std::uint64_t TestRandom::next() {
  std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

GraphBuilder& GraphBuilder::node(const std::string& name, Nanoseconds comp, Bytes mem, Bytes temp) {
  ids_.emplace(name, static_cast<std::int64_t>(names_.size()));
  names_.push_back(name);
  comp_.push_back(comp);
  mem_.push_back(mem);
  temp_.push_back(temp);
  kind_.push_back(0);
  colocation_.push_back(-1);
  alias_.push_back(-1);
  fixed_.push_back(-1);
  return *this;
}

GraphBuilder& GraphBuilder::edge(const std::string& from, const std::string& to, Bytes bytes) {
  edges_.push_back({id(from), id(to), bytes, 0});
  return *this;
}

GraphBuilder& GraphBuilder::edge(const std::string& from, const std::string& to, Bytes bytes, std::int64_t output) {
  outputs_ = true;
  edges_.push_back({id(from), id(to), bytes, output});
  return *this;
}

GraphBuilder& GraphBuilder::kind(const std::string& name, NodeKind kind) {
  kind_[id(name)] = static_cast<std::int64_t>(kind);
  return *this;
}

GraphBuilder& GraphBuilder::colocate(std::initializer_list<std::string> names) {
  for (const std::string& name : names) colocation_[id(name)] = groups_;
  ++groups_;
  return *this;
}

GraphBuilder& GraphBuilder::alias(const std::string& name, const std::string& of) {
  alias_[id(name)] = id(of);
  return *this;
}

GraphBuilder& GraphBuilder::pin(const std::string& name, DeviceId device) {
  fixed_[id(name)] = device;
  return *this;
}

GraphBuilder& GraphBuilder::without_names() {
  keep_names_ = false;
  return *this;
}

static void set_names(GraphData& data, const std::vector<std::string>& names) {
  data.names.offsets = {0};
  for (const std::string& name : names) {
    data.names.bytes.insert(data.names.bytes.end(), name.begin(), name.end());
    data.names.offsets.push_back(static_cast<std::int64_t>(data.names.bytes.size()));
  }
}

GraphData GraphBuilder::data() const {
  GraphData data;
  data.name = "by hand";
  std::vector<std::int64_t> from, to, bytes, output;
  for (const Edge& e : edges_) {
    from.push_back(e.from);
    to.push_back(e.to);
    bytes.push_back(e.bytes);
    if (outputs_) output.push_back(e.output);
  }
  set_edges(data, static_cast<std::int64_t>(names_.size()), from, to, bytes, output);
  data.comp = comp_;
  data.mem = mem_;
  data.temp = temp_;
  data.kind = kind_;
  data.colocation = colocation_;
  data.alias = alias_;
  data.fixed = fixed_;
  if (keep_names_) set_names(data, names_);
  return data;
}

void set_edges(GraphData& data, std::int64_t nodes, const std::vector<std::int64_t>& from, const std::vector<std::int64_t>& to,
               const std::vector<std::int64_t>& bytes, const std::vector<std::int64_t>& output) {
  data.indptr.assign(nodes + 1, 0);
  for (const std::int64_t u : from) ++data.indptr[u + 1];
  std::partial_sum(data.indptr.begin(), data.indptr.end(), data.indptr.begin());
  std::vector<std::int64_t> next(data.indptr.begin(), data.indptr.end() - 1);
  data.indices.resize(from.size());
  data.bytes.resize(from.size());
  data.output.resize(output.size());
  for (std::size_t e = 0; e < from.size(); ++e) {
    const std::int64_t slot = next[from[e]]++;
    data.indices[slot] = to[e];
    data.bytes[slot] = bytes[e];
    if (!output.empty()) data.output[slot] = output[e];
  }
}

/// Nodes of equal cost, no edges yet.
static GraphData equal_nodes(const std::string& name, std::int64_t nodes, Nanoseconds comp) {
  GraphData data;
  data.name = name;
  data.indptr.assign(nodes + 1, 0);
  data.comp.assign(nodes, comp);
  data.mem.assign(nodes, 1);
  return data;
}

GraphData chain(std::int64_t nodes, Nanoseconds comp, Bytes bytes) {
  GraphData data = equal_nodes("chain", nodes, comp);
  for (std::int64_t v = 0; v < nodes; ++v) {
    if (v + 1 < nodes) data.indices.push_back(v + 1);
    data.indptr[v + 1] = static_cast<std::int64_t>(data.indices.size());
  }
  data.bytes.assign(data.indices.size(), bytes);
  return data;
}

GraphData star(std::int64_t leaves, Nanoseconds comp, Bytes bytes) {
  GraphData data = equal_nodes("star", leaves + 1, comp);
  for (std::int64_t v = 1; v <= leaves; ++v) data.indices.push_back(v);
  for (std::int64_t v = 0; v <= leaves; ++v) data.indptr[v + 1] = leaves;
  data.bytes.assign(data.indices.size(), bytes);
  return data;
}

GraphData clique(std::int64_t nodes, Nanoseconds comp, Bytes bytes) {
  GraphData data = equal_nodes("clique", nodes, comp);
  for (std::int64_t u = 0; u < nodes; ++u) {
    for (std::int64_t v = u + 1; v < nodes; ++v) data.indices.push_back(v);
    data.indptr[u + 1] = static_cast<std::int64_t>(data.indices.size());
  }
  data.bytes.assign(data.indices.size(), bytes);
  return data;
}

RandomGraphOptions RandomGraphOptions::plain(std::int64_t nodes, std::int64_t window) {
  RandomGraphOptions options;
  options.nodes = nodes;
  options.window = window;
  options.colocated = options.aliased = options.residual = options.reference = options.pinned = 0;
  return options;
}

namespace {

/// Draws one random graph. Nodes are numbered in a hidden topological order; `file_` maps it to file ids.
class RandomGraph {
 public:
  RandomGraph(std::uint64_t seed, const RandomGraphOptions& options) : random_(seed), options_(options), n_(options.nodes) {
    data_.name = "random " + std::to_string(seed);
    file_.resize(n_);
    std::iota(file_.begin(), file_.end(), 0);
    if (seed % 2 == 1) {
      for (std::int64_t i = n_ - 1; i > 0; --i) std::swap(file_[i], file_[random_.below(i + 1)]);
    }
    predecessor_.assign(n_, -1);
  }

  GraphData draw() {
    draw_edges();
    draw_costs();
    draw_kinds();
    draw_groups();
    draw_aliases();
    draw_references();
    draw_pins();
    if (options_.names) draw_names();
    return std::move(data_);
  }

 private:
  std::int64_t value(std::int64_t max) { return random_.below(max + 1); }

  void draw_edges() {
    std::vector<std::int64_t> from, to, bytes, output;
    for (std::int64_t i = 1; i < n_; ++i) {
      const std::int64_t reach = options_.window > 0 ? std::min(options_.window, i) : i;
      const std::int64_t degree = random_.below(options_.max_in_degree + 1);
      for (std::int64_t k = 0; k < degree; ++k) {
        const std::int64_t j = i - 1 - random_.below(reach);
        predecessor_[i] = j;
        const int copies = random_.chance(options_.parallel_edges) ? 2 : 1;
        for (int copy = 0; copy < copies; ++copy) {
          from.push_back(file_[j]);
          to.push_back(file_[i]);
          bytes.push_back(random_.chance(options_.control_edges) ? 0 : value(options_.max_bytes));
          if (options_.outputs) output.push_back(random_.below(3));
        }
      }
    }
    set_edges(data_, n_, from, to, bytes, output);
  }

  void draw_costs() {
    for (std::int64_t v = 0; v < n_; ++v) {
      data_.comp.push_back(random_.chance(options_.zero_comp) ? 0 : value(options_.max_comp));
      data_.mem.push_back(value(options_.max_mem));
      data_.temp.push_back(value(options_.max_temp));
    }
  }

  void draw_kinds() {
    data_.kind.assign(n_, 0);
    for (std::int64_t v = 0; v < n_; ++v) {
      if (random_.chance(options_.residual)) data_.kind[v] = 1;
    }
  }

  void draw_groups() {
    data_.colocation.assign(n_, -1);
    const std::int64_t groups = std::max<std::int64_t>(1, n_ / 8);
    for (std::int64_t v = 0; v < n_; ++v) {
      if (random_.chance(options_.colocated)) data_.colocation[v] = 3 * random_.below(groups);
    }
  }

  /// Views point backwards in the hidden order, so chains never close a cycle.
  void draw_aliases() {
    data_.alias.assign(n_, -1);
    for (std::int64_t i = 1; i < n_; ++i) {
      if (data_.kind[file_[i]] != 0 || !random_.chance(options_.aliased)) continue;
      const bool of_predecessor = predecessor_[i] >= 0 && random_.chance(80);
      data_.alias[file_[i]] = file_[of_predecessor ? predecessor_[i] : random_.below(i)];
    }
  }

  /// A reference node follows an earlier residual, as its alias or in its group.
  void draw_references() {
    std::vector<std::int64_t> residuals;
    std::int64_t next_group = 3 * n_ + 1;
    for (std::int64_t i = 0; i < n_; ++i) {
      const std::int64_t v = file_[i];
      if (data_.kind[v] == 1) residuals.push_back(v);
      if (data_.kind[v] != 0 || data_.alias[v] >= 0 || residuals.empty() || !random_.chance(options_.reference)) continue;
      const std::int64_t residual = residuals[random_.below(static_cast<std::int64_t>(residuals.size()))];
      data_.kind[v] = 2;
      if (random_.chance(50)) {
        data_.alias[v] = residual;
        continue;
      }
      if (data_.colocation[residual] < 0) data_.colocation[residual] = next_group++;
      data_.colocation[v] = data_.colocation[residual];
    }
  }

  std::int64_t find(std::vector<std::int64_t>& parent, std::int64_t v) {
    while (parent[v] != v) v = parent[v] = parent[parent[v]];
    return v;
  }

  /// One device for a whole unit, written on one or more of its nodes.
  void draw_pins() {
    data_.fixed.assign(n_, -1);
    std::vector<std::int64_t> parent(n_);
    std::iota(parent.begin(), parent.end(), 0);
    std::unordered_map<std::int64_t, std::int64_t> first_of_group;
    for (std::int64_t v = 0; v < n_; ++v) {
      if (data_.alias[v] >= 0) parent[find(parent, v)] = find(parent, data_.alias[v]);
      if (data_.colocation[v] < 0) continue;
      const std::int64_t first = first_of_group.emplace(data_.colocation[v], v).first->second;
      parent[find(parent, v)] = find(parent, first);
    }
    std::vector<std::int64_t> device(n_, -1);
    for (std::int64_t v = 0; v < n_; ++v) {
      if (!random_.chance(options_.pinned)) continue;
      std::int64_t& of_unit = device[find(parent, v)];
      if (of_unit < 0) of_unit = random_.below(options_.devices);
      data_.fixed[v] = of_unit;
    }
  }

  void draw_names() {
    std::vector<std::string> names;
    for (std::int64_t v = 0; v < n_; ++v) names.push_back("op_" + std::to_string(n_ - v));
    set_names(data_, names);
  }

  TestRandom random_;
  const RandomGraphOptions& options_;
  std::int64_t n_;
  GraphData data_;
  std::vector<std::int64_t> file_;         // hidden order -> file id
  std::vector<std::int64_t> predecessor_;  // some predecessor of each node, hidden order, or -1
};

}  // namespace

GraphData random_graph_data(std::uint64_t seed, const RandomGraphOptions& options) {
  return RandomGraph(seed, options).draw();
}

}  // namespace pardnn::test
