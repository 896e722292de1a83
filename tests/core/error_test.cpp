#include "pardnn/error.hpp"

#include <gtest/gtest.h>

namespace pardnn {
namespace {

TEST(Printable, PlainAndUnicodeTextStays) {
  EXPECT_EQ(printable("layer_1/conv:0 <b>"), "layer_1/conv:0 <b>");
  EXPECT_EQ(printable("Schicht-ä-层-𝔸"), "Schicht-ä-层-𝔸");
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, ControlCharactersQuotesAndBackslashesAreEscaped) {
  EXPECT_EQ(printable("\x1b[31mred\n\t\x7f"), "\\x1b[31mred\\x0a\\x09\\x7f");
  EXPECT_EQ(printable("a\"b'c\\d"), "a\\x22b\\x27c\\x5cd");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(Printable, SecondControlRangeAndDirectionMarksAreEscaped) {
  EXPECT_EQ(printable("\xc2\x9b" "31m"), "\\xc2\\x9b31m");            // CSI as one character
  EXPECT_EQ(printable("\xe2\x80\xae" "txt"), "\\xe2\\x80\\xaetxt");  // right-to-left override
  EXPECT_EQ(printable("\xe2\x80\xa8"), "\\xe2\\x80\\xa8");           // line separator
}

TEST(Printable, InvalidUtf8IsEscapedByteByByte) {
  EXPECT_EQ(printable("a\xff" "b"), "a\\xffb");
  EXPECT_EQ(printable("\xc3"), "\\xc3");                  // cut
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");          // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // past U+10FFFF
}

TEST(Printable, LongTextIsCutAtTheLimit) {
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdefg", 6), "abcdef...");
  EXPECT_EQ(printable("abcd\n", 6), "abcd...");  // an escape is never cut in two
  EXPECT_EQ(printable("ääää", 3), "äää...");
}

}  // namespace
}  // namespace pardnn
