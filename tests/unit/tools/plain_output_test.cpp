#include "tools/plain_output.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace traceagent::tools {
namespace {

TEST(PlainText, IsNoOrderToATerminal) {
  EXPECT_EQ(as_plain_text("a\tb\n"), "a\tb\n");
  EXPECT_EQ(as_plain_text("\x1b[31mred\x1b[0m\r\b\x7f"), "?[31mred?[0m???");
  EXPECT_EQ(as_plain_text(std::string("\0x", 2)), "?x");
  EXPECT_EQ(as_plain_text("\xc2\x9b"
                          "31m"),
            "??31m")
      << "one character that is escape and bracket";
  EXPECT_EQ(as_plain_text("größe 量 µs"), "größe 量 µs");
}

TEST(PlainOutput, PassesEverythingOn) {
  std::ostringstream stream;
  {
    const PlainOutput plain(stream);
    stream << "one\x1b[2J" << 2 << "\nthree" << std::flush << "\x07 four";
  }
  stream << "\x1b";
  EXPECT_EQ(stream.str(), "one?[2J2\nthree? four\x1b");
}

TEST(PlainOutput, SaysThatNothingMoreCanBeWritten) {
  struct Refusing : std::streambuf {
  } refusing;
  std::ostream stream(&refusing);
  PlainOutput plain(stream);
  stream << "a line\n";
  EXPECT_FALSE(stream.good());
}

}  // namespace
}  // namespace traceagent::tools
