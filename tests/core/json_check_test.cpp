#include "core/json_check.hpp"

#include <chrono>
#include <string>

#include <gtest/gtest.h>

namespace pardnn {
namespace {

std::string nested(std::size_t deep) { return std::string(deep, '[') + std::string(deep, ']'); }

TEST(JsonCheck, ValidTextHasNoFault) {
  for (const char* text : {"{}", "[]", "7", "{\"a\": [{\"a\": 1}, {\"a\": 2}], \"b\": {\"a\": null}}"}) EXPECT_EQ(check_json(text), "") << text;
}

TEST(JsonCheck, InvalidTextIsNamedByItsByte) {
  for (const char* text : {"{\"a\": }", "", "[NaN]", "{}{}", "[1,]", "nul", "[1e999]"}) EXPECT_EQ(check_json(text).find("not valid JSON at byte "), 0u) << text;
  EXPECT_EQ(check_json("[1, \x1b]").find('\x1b'), std::string::npos);
}

TEST(JsonCheck, RepeatedKeysAreFoundInAnyObject) {
  EXPECT_EQ(check_json(R"({"a": 1, "b": {"c": 1, "c": 2}})"), "the key 'c' stands twice in one object");
  EXPECT_EQ(check_json(R"([{"a": [{"a": 1}], "a": 2}])"), "the key 'a' stands twice in one object");
}

TEST(JsonCheck, DepthIsBounded) {
  EXPECT_EQ(check_json(nested(kDeepestJson)), "");
  EXPECT_EQ(check_json(nested(kDeepestJson + 1)), "objects and lists stand more than 64 deep in one another");
  EXPECT_NE(check_json(nested(1'000'000)), "");
  EXPECT_NE(check_json(std::string(1'000'000, '[')), "");
}

// A list of many objects: time grows with its length, not with its square (which took minutes here).
TEST(JsonCheck, LongListsTakeLinearTime) {
  std::string text = "[{}";
  for (int i = 1; i < 1'000'000; ++i) text += ",{}";
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(check_json(text + "]"), "");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(30));
}

}  // namespace
}  // namespace pardnn
