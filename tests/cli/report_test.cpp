#include "cli/report.hpp"

#include <gtest/gtest.h>

#include "cli/text_table.hpp"

namespace pardnn::cli {
namespace {

TEST(Grouped, ThousandsHaveCommas) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(-123), "-123");
  EXPECT_EQ(grouped(-1234), "-1,234");
}

TEST(TextTable, AlignsByCharactersNotBytes) {
  EXPECT_EQ(text_table({{"name", "n"}, {"ä", "10"}, {"abcdef", "1"}}, 1, 1), " name     n\n ä       10\n abcdef   1\n");
}

TEST(StageText, GivesSecondsAndPercent) {
  const std::string text = stage_text({{"read", 1.0}, {"search", 3.0}}, 4.0);
  EXPECT_NE(text.find("read      1.000     25.0"), std::string::npos) << text;
  EXPECT_NE(text.find("total     4.000    100.0"), std::string::npos) << text;
}

TEST(SummaryText, MisfitSaysByHowMuchAndWhatWouldDo) {
  LoadedGraph loaded;
  loaded.file = "model\x1b.h5";
  Outcome outcome;
  outcome.method = "step one";
  outcome.evaluation.makespan = 1500;
  outcome.evaluation.lower_bound = 1000;
  outcome.evaluation.devices = {{"gpu0", 10, 9, 12, 3, 750, 4, false}};
  outcome.capacity_needed = 14;
  outcome.capacity_bound = 13;
  outcome.cannot_fit = true;
  outcome.proof = "residuals need 12 bytes";
  const std::string text = summary_text(loaded, homogeneous_machine(1, 10), outcome);
  EXPECT_NE(text.find("feasible     no: 3 B over the usable memory in all"), std::string::npos) << text;
  EXPECT_NE(text.find("would fit    with 14 B on each device"), std::string::npos) << text;
  EXPECT_NE(text.find("nothing fits with less than 13 B on each device"), std::string::npos) << text;
  EXPECT_NE(text.find("no placement fits: residuals need 12 bytes"), std::string::npos) << text;
  EXPECT_NE(text.find("1.500 x the lower bound"), std::string::npos) << text;
  EXPECT_NE(text.find("gpu0        4  50.0 %  12 B     9 B       3 B"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(ComparisonText, MarksTheBestRow) {
  std::vector<Outcome> outcomes(2);
  outcomes[0].method = "rr";
  outcomes[1].method = "heft";
  const std::string text = comparison_text(outcomes, 1);
  EXPECT_NE(text.find("  *  heft"), std::string::npos) << text;
  EXPECT_NE(text.find("     rr"), std::string::npos) << text;
}

}  // namespace
}  // namespace pardnn::cli
