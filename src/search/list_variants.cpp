#include "search/list_variants.hpp"

#include <utility>

#include "parallel/random.hpp"

namespace pardnn {
namespace {

constexpr std::uint64_t kStage = 0x737461727473;  // "starts"

/// The first `k` devices in the machine's order, or all (empty).
std::vector<DeviceId> first_devices(DeviceId k, DeviceId all) {
  std::vector<DeviceId> devices;
  if (k < all) {
    for (DeviceId d = 0; d < k; ++d) devices.push_back(d);
  }
  return devices;
}

/// Collects variants with the defaults of the machine; seeds other than 1 vary the weights.
class VariantList {
 public:
  VariantList(const CostModel& costs, std::uint64_t seed) : seed_(seed), ports_(costs.machine().links == Links::ports) {}
  bool ports() const { return ports_; }
  std::vector<ListOptions> take() { return std::move(variants_); }
  std::vector<ListOptions>& variants() { return variants_; }

  ListOptions& plain(ListMethod method, bool lazy) {
    ListOptions options;
    options.method = method;
    options.lazy_sources = lazy;
    options.comm_weight = varied(kOne);
    variants_.push_back(options);
    return variants_.back();
  }
  ListOptions& eil(Millionths comm_weight, Millionths lookahead) {
    ListOptions& options = plain(ListMethod::eil, true);
    options.comm_weight = varied(comm_weight);
    options.lookahead = varied(lookahead);
    options.ports = ports_;
    return options;
  }
  /// EIL that keeps devices free for the heirs of what runs there.
  ListOptions& reserving(Millionths reserve, Millionths port_price, Millionths stay) {
    ListOptions& options = eil(kOne, 0);
    options.reserve = varied(reserve);
    options.port_price = varied(port_price);
    options.stay = varied(stay);
    return options;
  }

 private:
  /// Between half and double for seeds other than 1.
  Millionths varied(Millionths weight) {
    if (seed_ == 1) return weight;
    const std::uint64_t draw = random_below(random_bits(seed_, kStage, draws_++), 1'500'000);
    return weight * (500'000 + static_cast<Millionths>(draw)) / kOne;
  }

  std::uint64_t seed_, draws_ = 0;
  bool ports_;
  std::vector<ListOptions> variants_;
};

}  // namespace

std::vector<ListOptions> list_variants(const CostModel& costs, Preset preset, std::uint64_t seed) {
  VariantList list(costs, seed);
  // Ordered by how often they won on real graphs (bench/construct_table): a large graph gets only the first few.
  if (list.ports()) {
    list.reserving(1'000'000, 300'000, 1'000'000).co_inputs = 500'000;
    list.variants().back().device_ties = DeviceTies::latest_input;
    list.plain(ListMethod::etf, true);
    if (preset == Preset::fast) return list.take();
    list.reserving(2'000'000, 0, 0);
    list.reserving(1'000'000, 10'000'000, 0).co_inputs = 500'000;
    list.variants().back().comm_weight = kOne / 2;
    list.plain(ListMethod::heft, true);
    list.reserving(1'000'000, 10'000'000, 10'000'000);
    list.reserving(1'000'000, 1'000'000, 1'000'000);
    list.reserving(1'000'000, 300'000, 1'000'000).comm_weight = 2 * kOne;
    list.reserving(1'000'000, 300'000, 0).co_inputs = 500'000;
    list.variants().back().comm_weight = kOne / 2;
    list.plain(ListMethod::etf, true).comm_weight = 2 * kOne;
    list.reserving(1'000'000, 1'000'000, 0).co_inputs = 500'000;
    list.variants().back().device_ties = DeviceTies::latest_input;
    list.variants().back().dispatch = Dispatch::bottom_level;
    list.reserving(1'000'000, 300'000, 0).dispatch = Dispatch::bottom_level;
    list.plain(ListMethod::etf, false);
    for (const Millionths weight : {1'500'000, 2'500'000, 5'000'000, 10'000'000}) list.eil(weight, 500'000);
  } else {
    list.reserving(2'000'000, 0, 0).co_inputs = 500'000;
    list.variants().back().device_ties = DeviceTies::latest_input;
    list.plain(ListMethod::etf, true);
    if (preset == Preset::fast) return list.take();
    list.reserving(1'000'000, 0, 0).co_inputs = 500'000;
    list.variants().back().device_ties = DeviceTies::latest_input;
    list.reserving(2'000'000, 0, 0).comm_weight = kOne / 2;
    list.variants().back().queue_estimate = QueueEstimate::plan;
    list.plain(ListMethod::heft, true);
    list.reserving(4'000'000, 0, 0);
    list.reserving(1'000'000, 0, 0).co_inputs = 500'000;
    list.reserving(1'000'000, 0, 0).comm_weight = kOne / 2;
    list.reserving(2'000'000, 0, 0);
    list.plain(ListMethod::etf, false);
    list.plain(ListMethod::etf, true).comm_weight = 2 * kOne;
    list.eil(500'000, 500'000);
    list.eil(kOne, 0);
    list.eil(250'000, 500'000);
  }
  list.eil(kOne, 0).lazy_sources = false;
  list.eil(500'000, 500'000).co_inputs = 500'000;
  list.eil(kOne, 0).dispatch = Dispatch::bottom_level;
  list.plain(ListMethod::etf, false).favourite_children = true;
  list.eil(kOne, 0).decide_first = DecideFirst::lower_file_id;
  list.eil(500'000, 0).queue_estimate = QueueEstimate::plan;
  list.plain(ListMethod::heft, false);
  for (const Millionths weight : {1'500'000, 5'000'000}) {
    if (!list.ports()) list.eil(weight, 0);
    list.plain(ListMethod::etf, true).comm_weight = weight;
  }
  const DeviceId all = costs.num_devices();
  for (DeviceId devices = all / 2; devices >= 2; devices /= 2) {
    list.reserving(1'000'000, 0, 0).devices = first_devices(devices, all);
    list.plain(ListMethod::etf, true).devices = first_devices(devices, all);
  }
  if (preset == Preset::strong) {
    for (const Millionths weight : {250'000, 500'000, 750'000, 1'000'000, 1'500'000, 2'500'000, 5'000'000, 10'000'000}) {
      for (const Millionths lookahead : {0, 500'000, 1'000'000}) {
        for (const QueueEstimate estimate : {QueueEstimate::work, QueueEstimate::plan}) {
          list.eil(weight, lookahead).queue_estimate = estimate;
          list.variants().back().reserve = lookahead == 0 ? kOne : 0;
        }
      }
      list.plain(ListMethod::heft, true).comm_weight = weight;
    }
    for (DeviceId devices = all - 1; devices >= 2; --devices) {
      if (devices > 16 && devices % (all / 16) != 0) continue;
      list.reserving(1'000'000, 0, 0).devices = first_devices(devices, all);
    }
  }
  return list.take();
}

}  // namespace pardnn
