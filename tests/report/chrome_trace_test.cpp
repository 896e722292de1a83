#include "report/chrome_trace.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <tuple>
#include <unistd.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "pardnn/emulate.hpp"
#include "report/run_case.hpp"

namespace pardnn {
namespace {

using Json = nlohmann::json;

using test::random_run_case;
using test::RunCase;

Json trace_of(const RunCase& made) {
  const std::string file = (std::filesystem::temp_directory_path() / ("pardnn-trace-" + std::to_string(getpid()) + ".json")).string();
  write_chrome_trace(file, made.run());
  std::ifstream stream(file);
  std::stringstream text;
  text << stream.rdbuf();
  std::filesystem::remove(file);
  return Json::parse(text.str()).at("traceEvents");
}

/// Exact nanoseconds of a time in microseconds with three decimals.
Nanoseconds nanoseconds(const Json& microseconds) { return std::llround(microseconds.get<double>() * 1000); }

using Track = std::pair<int, int>;

std::map<Track, std::vector<std::pair<Nanoseconds, Nanoseconds>>> slices_by_track(const Json& events) {
  std::map<Track, std::vector<std::pair<Nanoseconds, Nanoseconds>>> tracks;
  for (const Json& event : events) {
    if (event["ph"] != "X") continue;
    const Nanoseconds start = nanoseconds(event["ts"]);
    tracks[{event["pid"], event["tid"]}].emplace_back(start, start + nanoseconds(event["dur"]));
  }
  for (auto& entry : tracks) std::sort(entry.second.begin(), entry.second.end());
  return tracks;
}

TEST(ChromeTrace, NoSlicesOverlapOnATrack) {
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    const RunCase made = random_run_case(seed);
    const auto tracks = slices_by_track(trace_of(made));
    EXPECT_GT(tracks.size(), 3u) << "nodes and transfers";
    for (const auto& entry : tracks) {
      for (std::size_t i = 1; i < entry.second.size(); ++i) EXPECT_LE(entry.second[i - 1].second, entry.second[i].first) << "seed " << seed;
      EXPECT_TRUE(made.machine.links == Links::free || entry.first.second <= 1) << "one port for each device";
    }
  }
}

TEST(ChromeTrace, EveryFlowJoinsTwoSlices) {
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    const RunCase made = random_run_case(seed);
    const Json events = trace_of(made);
    std::set<std::tuple<int, int, Nanoseconds>> begins;
    std::map<std::int64_t, int> starts, ends;
    for (const Json& event : events) {
      if (event["ph"] == "X") begins.insert({event["pid"], event["tid"], nanoseconds(event["ts"])});
    }
    for (const Json& event : events) {
      if (event["ph"] != "s" && event["ph"] != "f") continue;
      ++(event["ph"] == "s" ? starts : ends)[event["id"]];
      EXPECT_TRUE(begins.count({event["pid"], event["tid"], nanoseconds(event["ts"])})) << "seed " << seed << ": " << event.dump();
    }
    EXPECT_FALSE(starts.empty());
    EXPECT_EQ(starts, ends);
    for (const auto& entry : starts) EXPECT_EQ(entry.second, 1);
  }
}

TEST(ChromeTrace, MemoryCounterReachesThePeakAndNoMore) {
  for (std::uint64_t seed = 1; seed <= 24; ++seed) {
    const RunCase made = random_run_case(seed);
    const Evaluation evaluation = evaluate(made.graph, made.machine, made.placement, made.policy);
    std::vector<Bytes> greatest(3, 0), usable(3, 0);
    for (const Json& event : trace_of(made)) {
      if (event["ph"] != "C") continue;
      auto& counter = event["name"] == "memory" ? greatest : usable;
      Bytes& value = counter[event["pid"].get<std::size_t>() - 1];
      value = std::max(value, event["args"]["bytes"].get<Bytes>());
    }
    for (std::size_t d = 0; d < 3; ++d) {
      EXPECT_EQ(greatest[d], evaluation.devices[d].peak) << "seed " << seed;
      EXPECT_EQ(usable[d], evaluation.devices[d].usable);
    }
  }
}

TEST(ChromeTrace, EveryNodeOnceWithItsTimes) {
  const RunCase made = random_run_case(3);
  Schedule schedule;
  evaluate(made.graph, made.machine, made.placement, made.policy, &schedule);
  std::map<std::int64_t, Nanoseconds> start;
  for (const Json& event : trace_of(made)) {
    if (event["ph"] != "X" || event["cat"] != "node") continue;
    EXPECT_TRUE(start.emplace(event["args"]["node"], nanoseconds(event["ts"])).second);
  }
  ASSERT_EQ(start.size(), static_cast<std::size_t>(made.graph.num_nodes()));
  for (NodeId v = 0; v < made.graph.num_nodes(); ++v) EXPECT_EQ(start.at(made.graph.file_id(v)), schedule.start[static_cast<std::size_t>(v)]);
}

TEST(ChromeTrace, HostileNamesStayStrings) {
  GraphData data = test::GraphBuilder().node("</script><img src=x onerror=alert(1)>\"\\", 5, 1).node("b", 5, 1).edge("</script><img src=x onerror=alert(1)>\"\\", "b", 3).data();
  RunCase made;
  made.names = data.names;
  made.graph = Graph(std::move(data));
  made.machine = homogeneous_machine(2, 100);
  made.machine.devices[1].name = "gpu\"1\n";
  made.placement.device = {0, 1};
  bool found = false, device = false;
  for (const Json& event : trace_of(made)) {
    found = found || event["name"] == "</script><img src=x onerror=alert(1)>\"\\";
    device = device || (event["ph"] == "M" && event["args"].value("name", "") == "gpu\"1\n");
  }
  EXPECT_TRUE(found);
  EXPECT_TRUE(device);
}

}  // namespace
}  // namespace pardnn
