#include "core/base/printable.h"

#include <gtest/gtest.h>

namespace cortado::test::printable_test {
namespace {

TEST(Printable, TextStaysAndCodesDoNot) {
  EXPECT_EQ(printable("conv1/3x3 r\xC3\xA9seau \xE5\xB1\x82 \xF0\x9F\x98\x80\t|"),
            "conv1/3x3 r\xC3\xA9seau \xE5\xB1\x82 \xF0\x9F\x98\x80\t|");
  EXPECT_EQ(printable("a\nE1127 b\r\x1B[2J\x7F"), "a\\nE1127 b\\x0D\\x1B[2J\\x7F");
  EXPECT_EQ(printable(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("caf\xE9"), "caf\\xE9");  // Latin-1
  EXPECT_EQ(printable("\xC2\x9B"
                      "2J"),
            "\\xC2\\x9B"
            "2J");                                                     // C1's CSI
  EXPECT_EQ(printable("\xC0\xAF|\xE2\x82"), "\\xC0\\xAF|\\xE2\\x82");  // overlong, cut
  EXPECT_EQ(printable("\xED\xA0\x80"), "\\xED\\xA0\\x80");             // a surrogate
}

}  // namespace
}  // namespace cortado::test::printable_test
