#include "report/report_page.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "pardnn/emulate.hpp"
#include "report/run_case.hpp"

namespace pardnn {
namespace {

using Json = nlohmann::json;

const std::string kHostile = "</script><img src=x onerror=alert(1)>&\"'\\<!--";
const std::string kDataBegin = "<script type=\"application/json\" id=\"data\">";

std::string page_of(const test::RunCase& made, const std::string& title = "a graph") {
  EmulatedRun run = made.run();
  const Evaluation evaluation = evaluate(made.graph, made.machine, made.placement, made.policy);
  return report_page(run, evaluation, find_rivals(run.costs(), made.policy), {title, "p.tsv", "0", "fifo", "free", "0.1"});
}

std::string data_text(const std::string& page) {
  const std::size_t begin = page.find(kDataBegin) + kDataBegin.size();
  return page.substr(begin, page.find("</script>", begin) - begin);
}

std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(ReportPage, SaysWhatEvaluateSays) {
  const test::RunCase made = test::random_run_case(5);
  const Evaluation evaluation = evaluate(made.graph, made.machine, made.placement, made.policy);
  const Json data = Json::parse(data_text(page_of(made)));
  EXPECT_EQ(data["makespan"], evaluation.makespan);
  EXPECT_EQ(data["best"], evaluation.best_bound);
  EXPECT_EQ(data["feasible"], evaluation.feasible);
  EXPECT_EQ(data["baselines"].size(), 5u);
  ASSERT_EQ(data["devices"].size(), 3u);
  for (std::size_t d = 0; d < 3; ++d) {
    EXPECT_EQ(data["devices"][d]["peak"], evaluation.devices[d].peak);
    EXPECT_EQ(data["devices"][d]["usable"], evaluation.devices[d].usable);
    EXPECT_EQ(data["devices"][d]["blocks"].size() % 5, 0u);
    for (std::size_t i = 3; i < data["devices"][d]["blocks"].size(); i += 5) EXPECT_LT(data["devices"][d]["blocks"][i].get<std::size_t>(), data["names"].size());
  }
  EXPECT_EQ(data["chain"]["compute"].get<Nanoseconds>() + data["chain"]["transfer"].get<Nanoseconds>(), evaluation.makespan);
}

TEST(ReportPage, HostileNamesStayData) {
  GraphData graph = test::GraphBuilder().node(kHostile, 5, 1).node("b", 5, 1).edge(kHostile, "b", 3).data();
  Machine machine = homogeneous_machine(2, 100);
  machine.name = machine.devices[0].name = kHostile;
  const test::RunCase made = test::run_case(std::move(graph), machine, {0, 1});
  const std::string page = page_of(made, kHostile), plain = page_of(test::run_case(test::GraphBuilder().node("a", 5, 1).node("b", 5, 1).edge("a", "b", 3).data(), homogeneous_machine(2, 100), {0, 1}));
  EXPECT_EQ(page.find("<img"), std::string::npos);
  EXPECT_EQ(occurrences(page, "<script"), occurrences(plain, "<script"));
  EXPECT_EQ(occurrences(page, "</script"), occurrences(plain, "</script"));
  EXPECT_EQ(data_text(page).find_first_of("<>&"), std::string::npos);
  const Json data = Json::parse(data_text(page));
  EXPECT_EQ(data["title"], kHostile);
  EXPECT_EQ(data["devices"][0]["name"], kHostile);
}

TEST(ReportPage, NothingComesFromElsewhere) {
  const std::string page = page_of(test::random_run_case(1));
  for (const char* part : {"http://", "https://", " src=", "@import", "url("}) EXPECT_EQ(page.find(part), std::string::npos) << part;
}

TEST(ReportPage, StaysSmallForManyNodes) {
  const std::string page = page_of(test::random_run_case(7, 60'000));
  EXPECT_LT(page.size(), 2'000'000u);
  EXPECT_GT(Json::parse(data_text(page))["resolution"], 0);
}

TEST(ReportPage, EmptyGraphHasAPage) {
  const Json data = Json::parse(data_text(page_of(test::run_case(GraphData{}, homogeneous_machine(2, 10), {}))));
  EXPECT_EQ(data["makespan"], 0);
}

TEST(SafeInScript, LeavesNoMarkup) { EXPECT_EQ(safe_in_script("{\"a\":\"</b>&\"}"), "{\"a\":\"\\u003c/b\\u003e\\u0026\"}"); }

}  // namespace
}  // namespace pardnn
