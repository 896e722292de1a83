#include "report/peak_tensors.hpp"

#include <algorithm>

namespace pardnn {

std::vector<PeakTensors> find_peak_tensors(EmulatedRun& run, std::size_t count) {
  std::vector<PeakTensors> all(static_cast<std::size_t>(run.machine().num_devices()));
  const auto before = [&](const Holding& a, const Holding& b) {
    if (a.bytes != b.bytes) return a.bytes > b.bytes;
    return a.owner != b.owner ? run.graph().file_id(a.owner) < run.graph().file_id(b.owner) : a.kind < b.kind;
  };
  run.memory().visit_holdings(run.device(), run.schedule(), run.delivered(), [&](const Holding& holding) {
    const Nanoseconds peak_time = run.peaks().peak_time[static_cast<std::size_t>(holding.device)];
    if (holding.from > peak_time || holding.to <= peak_time) return;
    PeakTensors& here = all[static_cast<std::size_t>(holding.device)];
    here.by_kind[static_cast<std::size_t>(holding.kind)] += holding.bytes;
    here.largest.push_back(holding);
    std::push_heap(here.largest.begin(), here.largest.end(), before);  // the least on top
    if (here.largest.size() > count) {
      std::pop_heap(here.largest.begin(), here.largest.end(), before);
      here.largest.pop_back();
    }
  });
  for (PeakTensors& here : all) std::sort(here.largest.begin(), here.largest.end(), before);
  return all;
}

}  // namespace pardnn
