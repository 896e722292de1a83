#include "baselines/baselines.hpp"

#include <vector>

#include "baselines/blocks.hpp"
#include "baselines/linear_clustering.hpp"
#include "baselines/list_baselines.hpp"
#include "baselines/memory_topo.hpp"
#include "baselines/round_robin.hpp"
#include "baselines/single_device.hpp"
#ifdef PARDNN_HAVE_METIS
#include "baselines/metis_cut.hpp"
#endif
#ifdef PARDNN_HAVE_SCOTCH
#include "baselines/scotch_cut.hpp"
#endif

namespace pardnn {

std::span<const Baseline> all_baselines() {
  static constexpr Baseline kTable[] = {
      {"single", "everything on the fastest device", single_device},
      {"rr", "round robin in topological order (the paper's RR)", round_robin},
      {"blocks", "contiguous blocks of equal work in topological order", topological_blocks},
      {"blocks-id", "contiguous blocks of equal work in the file's node order", file_order_blocks},
      {"heft", "HEFT: greatest bottom level first, earliest finish, insertion (Topcuoglu et al. 2002)", plain_heft},
      {"etf", "ETF: earliest task first (Hwang et al. 1989)", plain_etf},
      {"heft-lazy", "HEFT; weights and inputs follow their first consumer", lazy_heft},
      {"etf-lazy", "ETF; weights and inputs follow their first consumer", lazy_etf},
      {"eil", "EIL: places each node inside the emulated fifo run, where it would finish first", best_eil},
      {"lc", "linear clustering with GLB (the paper's LC); levels computed again in a bounded number of rounds", linear_clustering},
      {"m-topo", "Baechi's m-TOPO: topological order into balanced memory shares (Jeon et al. 2020)", memory_topo},
      {"m-etf", "Baechi's m-ETF: ETF that passes over full devices, memory estimated with lifetimes", memory_etf},
      {"m-sct", "Baechi's m-SCT, its list-scheduling core: favourite children by greedy matching instead of the linear program", memory_sct},
#ifdef PARDNN_HAVE_METIS
      {"metis", "METIS k-way on the undirected graph: equal work, least cut bytes", metis_cut},
#endif
#ifdef PARDNN_HAVE_SCOTCH
      {"scotch", "Scotch on the undirected graph: equal work, least cut bytes", scotch_cut},
#endif
  };
  return kTable;
}

}  // namespace pardnn
